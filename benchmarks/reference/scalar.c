/* Reference for `standout bench`: the scoring loop of scoring/cpu.py as plain C, for sums without vetoes, repeats or filters.
 *
 * Blocks of records, 16-bit local ids, integer tables; after the runs of a query's items are added up, the block is
 * looked over once (maximum, sum, sum of squares), and looked at closely only where its maximum beats the present second.
 */
#include <stdint.h>
#include <string.h>

typedef struct {
    int64_t n_records, block_size, n_items, n_queries, n_values, n_times, no_tick;
    const uint32_t *ptr;
    const uint16_t *local;
    const uint8_t *code;
    const uint16_t *tick;
    const int64_t *query_ptr, *item, *known_tick, *time_row;
    const int32_t *value, *time;
} Task;

typedef struct {
    int64_t *best_score, *best, *second_score, *second, *total;
    double *squares;
} Answer;

__attribute__((optimize("no-tree-vectorize"))) /* gathers made by the compiler are slower */
static void add_run(int32_t *acc, const Task *t, uint32_t lo, uint32_t hi, const int32_t *value, const int32_t *time,
                    int32_t known) {
    const int32_t last = (int32_t)t->n_times - 2, no_tick = (int32_t)t->no_tick, origin = known + last / 2;
    for (uint32_t k = lo; k < hi; k++) {
        const int32_t tick = t->tick[k];
        int32_t column = origin - tick; /* signed gap: known minus the entry's time, -reach first */
        column = column < 0 ? 0 : column;
        column = column > last ? last : column;
        column = tick == no_tick ? last + 1 : column;
        acc[t->local[k]] += value[t->code[k]] + time[column];
    }
}

static void promote(const int32_t *acc, int64_t size, int64_t start, int64_t q, Answer *a) {
    for (int64_t k = 0; k < size; k++) {
        if (acc[k] > a->best_score[q]) {
            a->second_score[q] = a->best_score[q];
            a->second[q] = a->best[q];
            a->best_score[q] = acc[k];
            a->best[q] = start + k;
        } else if (acc[k] > a->second_score[q]) {
            a->second_score[q] = acc[k];
            a->second[q] = start + k;
        }
    }
}

void run_blocks(int64_t first, int64_t stop, const Task *t, Answer *a, int32_t *acc) {
    for (int64_t b = first; b < stop; b++) {
        const int64_t start = b * t->block_size;
        const int64_t left = t->n_records - start, size = left < t->block_size ? left : t->block_size;
        const uint32_t *ptr = t->ptr + b * (t->n_items + 1);
        for (int64_t q = 0; q < t->n_queries; q++) {
            memset(acc, 0, size * sizeof *acc);
            for (int64_t f = t->query_ptr[q]; f < t->query_ptr[q + 1]; f++) {
                const int64_t i = t->item[f];
                add_run(acc, t, ptr[i], ptr[i + 1], t->value + f * t->n_values, t->time + t->time_row[f] * t->n_times,
                        (int32_t)t->known_tick[f]);
            }
            int32_t top = INT32_MIN;
            int64_t total = 0;
            double squares = 0.0;
            for (int64_t k = 0; k < size; k++) {
                top = acc[k] > top ? acc[k] : top;
                total += acc[k];
                squares += (double)acc[k] * acc[k];
            }
            a->total[q] += total;
            a->squares[q] += squares;
            if (top > a->second_score[q] || a->second[q] < 0) promote(acc, size, start, q, a);
        }
    }
}

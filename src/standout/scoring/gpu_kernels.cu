// The GPU kernel: one thread block scores one block of records for one query after another.
//
// The block's scores live in shared memory. Warps take stretches of 128 postings of the query's items in turn and add
// integers atomically, so the sums are those of the CPU kernel to the bit. Compiled with -fmad=false: the odds of
// Combine.ODDS are then the same float64 numbers too.
//
// Macros: COMBINE (0 sum, 1 min, 2 odds), TIE (0 index, 1 short, 2 hash), USE_VALUE, USE_TIME, REPEATS, FILTERED, FACTOR,
// WORD, PTR, LOCAL_BITS, CODE_BITS, DAY_BITS, BLOCK, THREADS, PER_SM, TABLES_SHARED,
// MISSING_DAYS (some entry has no day), VETOES (some table holds a veto).

typedef long long i64;
typedef unsigned int u32;
typedef unsigned long long u64;

#if COMBINE == 2
typedef double T;
#else
typedef int T;
#endif

#define WARPS (THREADS / 32)
#ifndef DEPTH
#define DEPTH 4
#endif
#define STRETCH (32 * DEPTH)
#define MOST_FACTS 32
#define LOWEST (-2147483647 - 1)
#define HALF_VETO (-(1 << 28))
#define MISSING ((int)((1u << DAY_BITS) - 1u))
#define ALL 0xffffffffu

struct Index {
    const WORD *words;
    const PTR *ptr;
    i64 first_record, n_records, n_items;
};

struct Plan {
    const int *query_ptr, *item, *known_day, *time_row;
    const T *value, *time;
    const double *floor;
    const int *shift, *n_known;
    const i64 *exclude, *low, *high, *cut, *cap;
    const u64 *salt;
    const double *factor;
    const i64 *lengths;
    const i64 *log_table;
    i64 n_queries, n_values, n_times, facts_at_once;
};

struct Out {
    i64 *best_score;
    u64 *best_key;
    i64 *best, *second_score;
    u64 *second_key;
    i64 *second, *n, *total;
    double *squares;
    i64 *n_watch, *n_cut;
};

// What the threads of one block share. `acc` comes first: it is read four scores at a time.
struct Shared {
    int *acc;
    unsigned short *held;
    i64 *log_table;
    T *value, *time;
};

__shared__ i64 s_lo[MOST_FACTS], s_hi[MOST_FACTS];
__shared__ int s_known[MOST_FACTS];
__shared__ const T *s_time_row[MOST_FACTS];
extern __shared__ __align__(16) unsigned char s_bytes[];

__device__ __forceinline__ Shared carve(const Plan *plan) {
    Shared s;
    unsigned char *at = s_bytes;
    s.acc = (int *)at;
    at += 4 * BLOCK;
    s.log_table = (i64 *)at;
    if (COMBINE == 2) at += 8 * 1024;
    s.held = (unsigned short *)at;
    if (COMBINE == 1) at += 2 * BLOCK;
    s.value = (T *)at;
    s.time = s.value + plan->facts_at_once * plan->n_values;
    return s;
}

__device__ __forceinline__ int local_of(WORD w) { return (int)(w & ((1u << LOCAL_BITS) - 1u)); }
__device__ __forceinline__ int code_of(WORD w) {
    return USE_VALUE ? (int)((w >> LOCAL_BITS) & (((WORD)1 << CODE_BITS) - 1)) : 0;
}
__device__ __forceinline__ int column_of(WORD w, int known, int last) {
    const int day = (int)((w >> (LOCAL_BITS + CODE_BITS)) & (((WORD)1 << DAY_BITS) - 1));
    const int gap = min(abs(day - known), last);
    return MISSING_DAYS && day == MISSING ? last + 1 : gap;
}

// Natural logarithm of x >= 1 in 2^-24 units; the same integers as scoring.fill.fixed_log.
__device__ __forceinline__ i64 fixed_log(double x, const i64 *table) {
    const i64 bits = __double_as_longlong(x);
    const i64 piece = table[(bits >> 42) & 1023];
    const i64 rest = (bits >> 26) & 0xFFFF;
    const i64 inside = ((piece >> 32) << 20) + (((piece & 0xFFFFFFFFLL) * rest) << 4);
    return (((bits >> 52) - 1023) * LN2 + inside + (1 << 19)) >> 20;
}

__device__ __forceinline__ T entry(WORD w, const T *value, const T *time, int known, int last) {
    T x = value[code_of(w)];
#if USE_TIME
#if COMBINE == 2
    x *= time[column_of(w, known, last)];
#else
    x += time[column_of(w, known, last)];
#endif
#endif
    return x;
}

// Contribution of the (record, item) pair whose first posting is p: its best event, or the mean of its odds.
__device__ __forceinline__ T pair(int p, int n, WORD w, const WORD *run, const T *value, const T *time, int known, int last) {
    T x = entry(w, value, time, known, last);
#if COMBINE != 2
    if (REPEATS && x <= HALF_VETO) x = 2 * HALF_VETO;
#endif
#if REPEATS
    const int local = local_of(w);
#if COMBINE == 2
    double events = 1.0;
#endif
    for (p++; p < n; p++) {
        w = run[p];
        if (local_of(w) != local) break;
        const T y = entry(w, value, time, known, last);
#if COMBINE == 2
        x += y;
        events += 1.0;
#else
        x = max(x, y > HALF_VETO ? y : 2 * HALF_VETO);
#endif
    }
#if COMBINE == 2
    if (events > 1.0) x /= events;
#endif
#endif
    return x;
}

__device__ __forceinline__ int log_odds(T odds, i64 record, i64 f, int shift, const Plan *plan, const i64 *table) {
    const double x = plan->factor[record] * ((double)odds + plan->floor[f]);
    return (int)((fixed_log(1.0 + x, table) + ((1LL << shift) >> 1)) >> shift);
}

// What posting p of a run adds to its record's sum: nothing where it is not the first of its pair, or vetoed.
__device__ __forceinline__ int addend(int p, int n, WORD w, const WORD *run, const T *value, const T *time, int known, int last,
                                      i64 start, i64 f, int shift, const Plan *plan, const i64 *log_table) {
#if REPEATS
    if (p >= n || (p > 0 && local_of(run[p - 1]) == local_of(w))) return 0;
#endif
    const T x = pair(p, n, w, run, value, time, known, last);
#if COMBINE == 2
    return log_odds(x, start + local_of(w), f, shift, plan, log_table);
#else
    return !VETOES || x > HALF_VETO ? x : 0;
#endif
}

// Facts f0 ... f0 + n - 1 of query q: where their runs lie in block b, and their tables.
__device__ void stage(const Index *ix, const Plan *plan, const Shared &s, i64 b, int f0, int n) {
    const int values = (int)plan->n_values, times = (int)plan->n_times;
    if (threadIdx.x < n) {
        const int f = f0 + threadIdx.x;
        const PTR *ptr = ix->ptr + b * (ix->n_items + 1) + plan->item[f];
        s_lo[threadIdx.x] = (i64)ptr[0];
        s_hi[threadIdx.x] = (i64)ptr[1];
        s_known[threadIdx.x] = plan->known_day[f];
        s_time_row[threadIdx.x] = plan->time + (i64)plan->time_row[f] * times;
    }
#if TABLES_SHARED
    for (int j = threadIdx.x; j < n * values; j += THREADS) s.value[j] = __ldg(plan->value + (i64)f0 * values + j);
#if USE_TIME
    // a warp copies 32 numbers of one row at a time; several copies are on their way at once
    const int segments = (times + 31) / 32, lane = threadIdx.x & 31;
#pragma unroll 4
    for (int g = threadIdx.x >> 5; g < n * segments; g += WARPS) {
        const int k = g / segments, j = (g - k * segments) * 32 + lane;
        const T *row = plan->time + (i64)__ldg(plan->time_row + f0 + k) * times;
        if (j < times) s.time[k * times + j] = __ldg(row + j);
    }
#endif
#endif
}

#if TABLES_SHARED
#define VALUE_ROW(k) (s.value + (k) * values)
#define TIME_ROW(k) (s.time + (k) * times)
#else
#define VALUE_ROW(k) (plan->value + (i64)(f0 + (k)) * values)
#define TIME_ROW(k) (s_time_row[k])
#endif

// Add the staged facts. Warps take stretches of the runs in turn.
__device__ void add_facts(const Index *ix, const Plan *plan, const Shared &s, i64 start, int f0, int n, int shift) {
    const int lane = threadIdx.x & 31, values = (int)plan->n_values, times = (int)plan->n_times, last = times - 2;
    int mine = threadIdx.x >> 5;
    for (int k = 0; k < n; k++) {
        const WORD *run = ix->words + s_lo[k];
        const int length = (int)(s_hi[k] - s_lo[k]), stretches = (length + STRETCH - 1) / STRETCH, known = s_known[k];
        const T *value = VALUE_ROW(k), *time = TIME_ROW(k);
        for (; mine < stretches; mine += WARPS) {
            const int p0 = mine * STRETCH + lane;
            WORD w[DEPTH];
#pragma unroll
            for (int j = 0; j < DEPTH; j++) w[j] = p0 + 32 * j < length ? __ldg(run + p0 + 32 * j) : 0;
            // no jumps between the table look-ups, so that those of all DEPTH postings are on their way at once
            int x[DEPTH];
#pragma unroll
            for (int j = 0; j < DEPTH; j++)
                x[j] = addend(p0 + 32 * j, length, w[j], run, value, time, known, last, start, f0 + k, shift, plan, s.log_table);
#pragma unroll
            for (int j = 0; j < DEPTH; j++)
                if (p0 + 32 * j < length) atomicAdd(&s.acc[local_of(w[j])], x[j]);
        }
        mine -= stretches;
    }
}

#if COMBINE == 1
// Lower each record that held every fact so far to its best event for fact f0 + k; one thread owns a record's events.
__device__ void least_fact(const Index *ix, const Plan *plan, const Shared &s, int f0, int k, int turn) {
    const int values = (int)plan->n_values, times = (int)plan->n_times;
    const WORD *run = ix->words + s_lo[k];
    const int length = (int)(s_hi[k] - s_lo[k]);
    for (int p = threadIdx.x; p < length; p += THREADS) {
        const WORD w = run[p];
        const int local = local_of(w);
        if (REPEATS && p > 0 && local_of(run[p - 1]) == local) continue;
        const int x = max(pair(p, length, w, run, VALUE_ROW(k), TIME_ROW(k), s_known[k], times - 2), 0);
        if (s.held[local] == turn) {
            s.held[local] = turn + 1;
            s.acc[local] = turn == 0 ? x : min(s.acc[local], x);
        }
    }
}
#endif

// Leave in s.acc the sums of block b for query q. Ends with all threads in step.
__device__ void fill(const Index *ix, const Plan *plan, const Shared &s, i64 b, i64 q) {
    int4 *acc4 = (int4 *)s.acc;
    for (int k = threadIdx.x; k < BLOCK / 4; k += THREADS) acc4[k] = make_int4(0, 0, 0, 0);
#if COMBINE == 1
    for (int k = threadIdx.x; k < BLOCK; k += THREADS) s.held[k] = 0;
#endif
    const int first = plan->query_ptr[q], stop = plan->query_ptr[q + 1], at_once = (int)plan->facts_at_once;
    if (first == stop) __syncthreads();
    for (int f0 = first; f0 < stop; f0 += at_once) {
        const int n = min(at_once, stop - f0);
        stage(ix, plan, s, b, f0, n);
        __syncthreads();
#if COMBINE == 1
        for (int k = 0; k < n; k++) {
            least_fact(ix, plan, s, f0, k, f0 + k - first);
            __syncthreads();
        }
#else
        add_facts(ix, plan, s, ix->first_record + b * BLOCK, f0, n, COMBINE == 2 ? plan->shift[q] : 0);
        __syncthreads();
#endif
    }
}

__device__ __forceinline__ int clamp_score(i64 x) { return (int)min(max(x, (i64)LOWEST), (i64)2147483647); }

// What the look over a block needs to know of its query, in 32 bits: 64 cost twice the instructions.
struct Bar {
    i64 start, q;
    int size, hole, cap;
};

__device__ __forceinline__ Bar bar_of(const Index *ix, const Plan *plan, i64 b, i64 q) {
    Bar bar;
    bar.start = ix->first_record + b * BLOCK;
    bar.q = q;
    bar.size = (int)min((i64)BLOCK, ix->n_records - b * BLOCK);
    const i64 hole = plan->exclude[q] - bar.start;
    bar.hole = hole >= 0 && hole < bar.size ? (int)hole : -1;
    bar.cap = clamp_score(plan->cap[q]);
    return bar;
}

// Score of record k of the block, from its sum: all facts held, the record's factor, the cap.
__device__ __forceinline__ int finish(int sum, int k, const Bar &bar, const Plan *plan, const Shared &s) {
#if COMBINE == 1
    if (s.held[k] < plan->n_known[bar.q]) sum = 0;
#endif
#if FACTOR && COMBINE == 0
    if (sum != 0) sum = (int)__double2ll_rn((double)sum * fabs(plan->factor[bar.start + k]));
#endif
    return min(sum, bar.cap);
}

__device__ __forceinline__ bool allowed(int k, const Bar &bar, const Plan *plan) {
    if (k == bar.hole) return false;
#if FILTERED
    const i64 record = bar.start + k;
    if ((FACTOR || COMBINE == 2) && plan->factor[record] < 0.0) return false;
    return plan->low[bar.q] <= plan->lengths[record] && plan->lengths[record] <= plan->high[bar.q];
#else
    return true;
#endif
}

struct Entrant {
    int score;
    u64 key;
    i64 record;
};

__device__ __forceinline__ u64 tie_key(i64 record, i64 q, const Plan *plan) {
#if TIE == 1
    return (u64)plan->lengths[record];
#elif TIE == 2
    u64 x = (u64)record * 0x9E3779B97F4A7C15ULL + plan->salt[q];
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
#else
    return 0;
#endif
}

// The total order: score falling, tie key rising, record rising; nobody (-1) comes last.
__device__ __forceinline__ bool before(const Entrant &a, const Entrant &b) {
    if (a.record < 0 || b.record < 0) return a.record >= 0;
    if (a.score != b.score) return a.score > b.score;
    if (a.key != b.key) return a.key < b.key;
    return a.record < b.record;
}

__shared__ Entrant s_entrant[WARPS];
__shared__ int s_goal;
__shared__ bool s_promote;

// First of all threads' entrants, on every thread.
__device__ Entrant first_of_block(Entrant e) {
    if (__any_sync(ALL, e.record >= 0)) {
        for (int d = 16; d > 0; d >>= 1) {
            Entrant o;
            o.score = __shfl_down_sync(ALL, e.score, d);
            o.key = __shfl_down_sync(ALL, e.key, d);
            o.record = __shfl_down_sync(ALL, e.record, d);
            if (before(o, e)) e = o;
        }
    }
    if ((threadIdx.x & 31) == 0) s_entrant[threadIdx.x >> 5] = e;
    __syncthreads();
    e = s_entrant[0];
    for (int w = 1; w < WARPS; w++)
        if (before(s_entrant[w], e)) e = s_entrant[w];
    __syncthreads();
    return e;
}

__device__ void insert(const Entrant &e, i64 q, const Out *out) {
    if (e.record < 0) return;
    const Entrant best = {(int)out->best_score[q], out->best_key[q], out->best[q]};
    const Entrant second = {(int)out->second_score[q], out->second_key[q], out->second[q]};
    if (before(e, best)) {
        out->second_score[q] = best.score;
        out->second_key[q] = best.key;
        out->second[q] = best.record;
        out->best_score[q] = e.score;
        out->best_key[q] = e.key;
        out->best[q] = e.record;
    } else if (before(e, second)) {
        out->second_score[q] = e.score;
        out->second_key[q] = e.key;
        out->second[q] = e.record;
    }
}

// The block's first two records with at least the score `goal` join the query's best two.
__device__ void promote(const Plan *plan, const Shared &s, const Bar &bar, int goal, const Out *out) {
    Entrant one = {LOWEST, 0, -1}, two = {LOWEST, 0, -1};
    const int4 *acc4 = (const int4 *)s.acc;
    for (int k4 = threadIdx.x; k4 < (bar.size + 3) / 4; k4 += THREADS) {
        const int4 v = acc4[k4];
        const int four[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int k = 4 * k4 + j, x = finish(four[j], k, bar, plan, s);
            if (x < goal || k >= bar.size || !allowed(k, bar, plan)) continue;
            const Entrant e = {x, tie_key(bar.start + k, bar.q, plan), bar.start + k};
            if (before(e, one)) {
                two = one;
                one = e;
            } else if (before(e, two)) {
                two = e;
            }
        }
    }
    const Entrant a = first_of_block(one);
    const Entrant b = first_of_block(one.record == a.record ? two : one);
    if (threadIdx.x == 0) {
        insert(a, bar.q, out);
        insert(b, bar.q, out);
    }
}

struct Sums {
    int top;
    i64 total;
    double squares;
    int n, n_watch, n_cut;
};

__shared__ Sums s_sums[WARPS];

__device__ __forceinline__ void add_sums(Sums &a, int top, i64 total, double squares, int n, int n_watch, int n_cut) {
    a.top = max(a.top, top);
    a.total += total;
    a.squares += squares;
    a.n += n;
    a.n_watch += n_watch;
    a.n_cut += n_cut;
}

__device__ __forceinline__ Sums sums_of_warp(Sums a) {
    for (int d = 16; d > 0; d >>= 1)
        add_sums(a, __shfl_down_sync(ALL, a.top, d), __shfl_down_sync(ALL, a.total, d), __shfl_down_sync(ALL, a.squares, d),
                 __shfl_down_sync(ALL, a.n, d), __shfl_down_sync(ALL, a.n_watch, d), __shfl_down_sync(ALL, a.n_cut, d));
    return a;
}

// Maximum, sum, sum of squares, number of candidates (where a filter makes it worth counting), numbers at least watch and cut.
template <bool COUNTS, bool WHOLE>
__device__ __forceinline__ Sums look_over(const Plan *plan, const Shared &s, const Bar &bar, int at_watch, int at_cut) {
    const int4 *acc4 = (const int4 *)s.acc;
    const int fours = WHOLE ? BLOCK / 4 : (bar.size + 3) / 4;
    Sums a = {LOWEST, 0, 0.0, 0, 0, 0};
    for (int k4 = threadIdx.x; k4 < fours; k4 += THREADS) {
        const int4 v = acc4[k4];
        const int four[4] = {v.x, v.y, v.z, v.w};
        u64 squares = 0;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int k = 4 * k4 + j;
            if ((!WHOLE && k >= bar.size) || !allowed(k, bar, plan)) continue;
            const int x = finish(four[j], k, bar, plan, s);
            a.top = max(a.top, x);
            a.total += x;
            squares += (u64)((i64)x * x);
            if (FILTERED) a.n += 1;
            if (COUNTS) {
                a.n_watch += x >= at_watch;
                a.n_cut += x >= at_cut;
            }
        }
        a.squares += (double)squares;
    }
    // without a filter all but the hole are candidates; one thread says so for all
    if (!FILTERED && threadIdx.x == 0) a.n = bar.size - (bar.hole >= 0);
    return a;
}

__device__ Sums look(const Plan *plan, const Shared &s, const Bar &bar, i64 watch) {
    const i64 cut = plan->cut[bar.q];
    const int at_watch = clamp_score(watch), at_cut = clamp_score(cut);
    const bool counts = watch <= 2147483647LL || cut <= 2147483647LL;
    if (bar.size == BLOCK)
        return counts ? look_over<true, true>(plan, s, bar, at_watch, at_cut) : look_over<false, true>(plan, s, bar, at_watch, at_cut);
    return counts ? look_over<true, false>(plan, s, bar, at_watch, at_cut) : look_over<false, false>(plan, s, bar, at_watch, at_cut);
}

// Warp 0 adds the warps' sums to the query's, and says whether some record may belong to its best two, of which the
// second has the score `second` now. The second highest of the warps' maxima is a score that two records reach: nothing
// below it needs a closer look.
__device__ void settle(i64 q, bool nobody, int second, const Out *out) {
    const int lane = threadIdx.x;
    Sums a = {LOWEST, 0, 0.0, 0, 0, 0};
    if (lane < WARPS) a = s_sums[lane];
    const int mine = a.top;
    a = sums_of_warp(a);
    const int high = __shfl_sync(ALL, a.top, 0);
    const int leader = __ffs(__ballot_sync(ALL, mine == high)) - 1;
    int next = lane == leader ? LOWEST : mine;
    for (int d = 16; d > 0; d >>= 1) next = max(next, __shfl_down_sync(ALL, next, d));
    if (lane == 0) {
        // one thread block owns a query: the additions are atomic only so that nobody waits for them
        atomicAdd((u64 *)&out->n[q], (u64)a.n);
        atomicAdd((u64 *)&out->total[q], (u64)a.total);
        atomicAdd(&out->squares[q], a.squares);
        if (a.n_watch) atomicAdd((u64 *)&out->n_watch[q], (u64)a.n_watch);
        if (a.n_cut) atomicAdd((u64 *)&out->n_cut[q], (u64)a.n_cut);
        s_promote = a.n > 0 && (nobody || high > second || (TIE != 0 && high == second));
        s_goal = nobody ? next : max(next, second);
    }
}

__device__ __forceinline__ void load_log(const Plan *plan, const Shared &s) {
#if COMBINE == 2
    for (int k = threadIdx.x; k < 1024; k += THREADS) s.log_table[k] = plan->log_table[k];
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, PER_SM)
run_block(const Index *ix, const Plan *plan, const i64 *watch, const Out *out, i64 b) {
    const Shared s = carve(plan);
    load_log(plan, s);
    for (i64 q = blockIdx.x; q < plan->n_queries; q += gridDim.x) {
        const Bar bar = bar_of(ix, plan, b, q);
        // asked for early: the answer is on its way while the block is scored
        const bool nobody = out->second[q] < 0;
        const int second = (int)out->second_score[q];
        fill(ix, plan, s, b, q);
        const Sums a = sums_of_warp(look(plan, s, bar, watch[q]));
        if ((threadIdx.x & 31) == 0) s_sums[threadIdx.x >> 5] = a;
        __syncthreads();
        if (threadIdx.x < 32) settle(q, nobody, second, out);
        __syncthreads();
        // ends with all threads in step, so that the next query may clear the block
        if (s_promote) promote(plan, s, bar, s_goal, out);
    }
}

__device__ __forceinline__ double exponential(double x) {
    if (!(x > -60.0)) return 0.0;
    return exp(x);
}

extern "C" __global__ void __launch_bounds__(THREADS, PER_SM)
mass_block(const Index *ix, const Plan *plan, const i64 *top, const double *beta, double *out, i64 b) {
    const Shared s = carve(plan);
    load_log(plan, s);
    for (i64 q = blockIdx.x; q < plan->n_queries; q += gridDim.x) {
        const Bar bar = bar_of(ix, plan, b, q);
        const double high = (double)top[q], sharp = beta[q];
        fill(ix, plan, s, b, q);
        double mass = 0.0;
        for (int k = threadIdx.x; k < bar.size; k += THREADS)
            if (allowed(k, bar, plan)) mass += exponential(sharp * ((double)finish(s.acc[k], k, bar, plan, s) - high));
        for (int d = 16; d > 0; d >>= 1) mass += __shfl_down_sync(ALL, mass, d);
        if ((threadIdx.x & 31) == 0) s_sums[threadIdx.x >> 5].squares = mass;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int w = 1; w < WARPS; w++) mass += s_sums[w].squares;
            out[q] += mass;
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, PER_SM)
dump_block(const Index *ix, const Plan *plan, int *out, i64 width, i64 b) {
    const Shared s = carve(plan);
    load_log(plan, s);
    for (i64 q = blockIdx.x; q < plan->n_queries; q += gridDim.x) {
        const Bar bar = bar_of(ix, plan, b, q);
        fill(ix, plan, s, b, q);
        for (int k = threadIdx.x; k < bar.size; k += THREADS)
            out[q * width + bar.start + k] = allowed(k, bar, plan) ? finish(s.acc[k], k, bar, plan, s) : LOWEST;
        __syncthreads();
    }
}

// Score of one record per query: its block is scored whole, as the other kernels do.
extern "C" __global__ void __launch_bounds__(THREADS, PER_SM)
peek_record(const Index *ix, const Plan *plan, const i64 *record, i64 *out) {
    const Shared s = carve(plan);
    load_log(plan, s);
    for (i64 q = blockIdx.x; q < plan->n_queries; q += gridDim.x) {
        const i64 local = record[q] - ix->first_record;
        if (local < 0 || local >= ix->n_records) continue;
        const i64 b = local / BLOCK;
        const int k = (int)(local - b * BLOCK);
        const Bar bar = bar_of(ix, plan, b, q);
        if (!allowed(k, bar, plan)) continue;
        fill(ix, plan, s, b, q);
        if (threadIdx.x == 0) out[q] = finish(s.acc[k], k, bar, plan, s);
        __syncthreads();
    }
}

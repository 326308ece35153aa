// The GPU kernel: one thread block scores one block of records for one query after another.
//
// The block's scores live in shared memory. Warps take stretches of postings of the query's items in turn and add
// integers atomically, so the sums are those of the CPU kernel to the bit. Compiled with -fmad=false: the odds of
// Combine.ODDS are then the same float64 numbers too.
//
// What the next query needs is copied to shared memory meanwhile: while a query's postings are added, the heads of the next
// (find_heads made them); while its scores are looked over, the tables of the next. A thread looks over and clears the same
// records, so that three barriers per query are enough: tables are there and scores cleared; all added; all looked over.
//
// Macros: COMBINE (0 sum, 1 min, 2 odds), TIE (0 index, 1 short, 2 hash), USE_VALUE, USE_TIME, REPEATS, FILTERED, FACTOR,
// WORD, PTR, LOCAL_BITS, CODE_BITS, TICK_BITS, BLOCK, THREADS, PER_SM, TABLES_SHARED, GAP_SHIFT (2^GAP_SHIFT gaps per column),
// FOLDED (a column of the time table is the size of a gap),
// MISSING_TICKS (some entry has no time), VETOES (some table holds a veto), NONNEGATIVE (nothing in a table is below 0),
// LONG_LOG (a logarithm may take more than 31 bits), LN2, FACTOR_TYPE (of the factors of Combine.ODDS).
//
// Combine.ODDS multiplies each odds by a factor of the record. The factors lie beside the postings (spread_factors), so that
// a warp reads those of 32 postings in one piece; fetched by record, they take a third of the kernel's time.

typedef long long i64;
typedef unsigned int u32;
typedef unsigned long long u64;

#if COMBINE == 2
typedef double T;
#else
typedef int T;
#endif

#define WARPS (THREADS / 32)
// postings per lane whose loads are on their way at once
#define DEPTH (COMBINE == 2 ? 6 : 4)
#define STRETCH (32 * DEPTH)
#define MOST_FACTS 32
#define LOWEST (-2147483647 - 1)
#define HALF_VETO (-(1 << 30))
#define MISSING ((int)((1u << TICK_BITS) - 1u))
#define ALL 0xffffffffu

struct Index {
    const WORD *words;
    const PTR *ptr;
    i64 first_record, n_records, n_items;
};

struct Plan {
    const int *query_ptr, *item, *known_tick, *time_row;
    const T *value, *time;
    const double *floor;
    const int *n_known;
    const i64 *exclude, *low, *high, *cut, *cap, *shift;
    const u64 *salt;
    const double *factor;
    const FACTOR_TYPE *posting_factor;
    const i64 *lengths;
    const i64 *log_table;
    struct Head *head;
    i64 n_queries, n_values, n_times, times_apart, facts_at_once;
};

// Partials. `top_score`, `top_key` and `top` hold two numbers per query: the best, then the second.
struct Out {
    i64 *top_score;
    u64 *top_key;
    i64 *top, *n_top, *n, *total;
    double *squares;
    i64 *n_watch, *n_cut;
};

// A fact's run in the block at hand, and its row of the time table.
struct __align__(16) Head {
    const WORD *run;
    const T *time;
    int length, origin;
    double floor;
};

// What a query brings along: its best two so far and how many tie with the best, and numbers of the plan.
struct Query {
    i64 best_score, second_score;
    u64 best_key, second_key;
    i64 best, second, n_top, exclude, cut, cap, shift, watch;
};

// What the threads of one block share. `acc` comes first: it is read four scores at a time.
struct Shared {
    int *acc;
    unsigned short *held;
    i64 *log_table;
    T *value, *time;
};

// several sets: while a query is scored, that of the next one arrives, and that of the one before may still be needed
__shared__ Head s_head[2][MOST_FACTS];
__shared__ Query s_query[4];
extern __shared__ __align__(16) unsigned char s_bytes[];

__device__ __forceinline__ Shared carve(const Plan &plan) {
    Shared s;
    unsigned char *at = s_bytes;
    s.acc = (int *)at;
    at += 4 * BLOCK;
    s.log_table = (i64 *)at;
    if (COMBINE == 2) at += 8 * 1024;
    s.held = (unsigned short *)at;
    // rows of the time table come in pieces of 16 bytes
    if (COMBINE == 1) at += (2 * BLOCK + 15) / 16 * 16;
    s.time = (T *)at;
    s.value = s.time + plan.facts_at_once * plan.times_apart;
    return s;
}

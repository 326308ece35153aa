// The GPU kernel: one thread block scores one block of records for one query after another.
//
// The block's scores live in shared memory. Warps take stretches of 128 postings of the query's items in turn and add
// integers atomically, so the sums are those of the CPU kernel to the bit. Compiled with -fmad=false: the odds of
// Combine.ODDS are then the same float64 numbers too.
//
// What the next query needs is copied to shared memory meanwhile: while a query's postings are added, the heads of the next
// (find_heads made them); while its scores are looked over, the tables of the next. A thread looks over and clears the same
// records, so that three barriers per query are enough: tables are there and scores cleared; all added; all looked over.
//
// Macros: COMBINE (0 sum, 1 min, 2 odds), TIE (0 index, 1 short, 2 hash), USE_VALUE, USE_TIME, REPEATS, FILTERED, FACTOR,
// WORD, PTR, LOCAL_BITS, CODE_BITS, DAY_BITS, BLOCK, THREADS, PER_SM, TABLES_SHARED,
// MISSING_DAYS (some entry has no day), VETOES (some table holds a veto), NONNEGATIVE (nothing in a table is below 0),
// LONG_LOG (a logarithm may take more than 31 bits), LN2.

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
#define HALF_VETO (-(1 << 30))
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
    const int *n_known;
    const i64 *exclude, *low, *high, *cut, *cap, *shift;
    const u64 *salt;
    const double *factor;
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
    int length, known;
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

__device__ __forceinline__ int local_of(WORD w) { return (int)(w & ((1u << LOCAL_BITS) - 1u)); }
__device__ __forceinline__ int code_of(WORD w) {
    return USE_VALUE ? (int)((w >> LOCAL_BITS) & (((WORD)1 << CODE_BITS) - 1)) : 0;
}
__device__ __forceinline__ int column_of(WORD w, int known, int last) {
    const int day = (int)(w >> (8 * sizeof(WORD) - DAY_BITS));
    const int gap = min(abs(day - known), last);
    return MISSING_DAYS && day == MISSING ? last + 1 : gap;
}

// Natural logarithm of x >= 1 in 2^-24 units; the same integers as scoring.fill.fixed_log, in 32 bits where they hold it:
// (e * LN2 + (start << 20) + (rise * rest << 4) + 2^19) >> 20 with the lower 20 bits of LN2 taken apart.
__device__ __forceinline__ i64 fixed_log(double x, const i64 *table) {
    const u32 high = (u32)__double2hiint(x), low = (u32)__double2loint(x);
    const i64 piece = table[(high >> 10) & 1023];
    const u32 e = (high >> 20) - 1023, rest = ((high << 6) | (low >> 26)) & 0xFFFF, rise = (u32)piece, start = (u32)(piece >> 32);
    const u32 fraction = (rise * rest + ((e * (u32)(LN2 & 0xFFFFF) + (1u << 19)) >> 4)) >> 16;
#if LONG_LOG
    return (i64)e * (LN2 >> 20) + (start + fraction);
#else
    return (i64)(e * (u32)(LN2 >> 20) + start + fraction);
#endif
}

// Shared memory by its 32-bit address: a pointer costs instructions that count in the innermost loop.
__device__ __forceinline__ u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void load(u32 at, int &x) { asm volatile("ld.shared.s32 %0, [%1];" : "=r"(x) : "r"(at)); }
__device__ __forceinline__ void load(u32 at, double &x) { asm volatile("ld.shared.f64 %0, [%1];" : "=d"(x) : "r"(at)); }

// Number k of a row of a table, which lies in shared or in global memory.
__device__ __forceinline__ T at(u32 row, int k) {
    T x;
    load(row + (u32)sizeof(T) * (u32)k, x);
    return x;
}
__device__ __forceinline__ T at(const T *row, int k) { return __ldg(row + k); }

// What all postings of a fact have in common.
template <typename Row>
struct Fact {
    Row value, time;
    int known, last;
    double floor;
    int shift;
    const double *factor;
    const i64 *log_table;
};

template <typename Row>
__device__ __forceinline__ T entry(WORD w, const Fact<Row> &fact) {
    T x = at(fact.value, code_of(w));
#if USE_TIME
    const T y = at(fact.time, column_of(w, fact.known, fact.last));
#if COMBINE == 2
    x *= y;
#elif VETOES
    // two vetoes together pass 32 bits
    x = (int)max((i64)x + y, (i64)LOWEST);
#else
    x += y;
#endif
#endif
    return x;
}

// Contribution of the (record, item) pair whose first posting is p: its best event, or the mean of its odds.
template <typename Row>
__device__ __forceinline__ T pair(int p, int n, WORD w, const WORD *run, const Fact<Row> &fact) {
    T x = entry(w, fact);
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
        const T y = entry(w, fact);
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

__device__ __forceinline__ int log_odds(T odds, double factor, double floor, int shift, const i64 *table) {
    const i64 x = fixed_log(1.0 + factor * ((double)odds + floor), table);
#if LONG_LOG
    return (int)((x + ((1LL << shift) >> 1)) >> shift);
#else
    return (int)(((u32)x + ((1u << shift) >> 1)) >> shift);
#endif
}

// What posting p of a run adds to its record's sum: nothing where it is not the first of its pair, or vetoed.
template <typename Row>
__device__ __forceinline__ int addend(int p, int n, WORD w, const WORD *run, const Fact<Row> &fact) {
#if REPEATS
    if (p >= n || (p > 0 && local_of(run[p - 1]) == local_of(w))) return 0;
#endif
    const T x = pair(p, n, w, run, fact);
#if COMBINE == 2
    return log_odds(x, __ldg(fact.factor + local_of(w)), fact.floor, fact.shift, fact.log_table);
#else
    return !VETOES || x > HALF_VETO ? x : 0;
#endif
}

template <int BYTES>
__device__ __forceinline__ void copy_async(void *to, const void *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address(to)), "l"(from), "n"(BYTES) : "memory");
}
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// A query's facts, those that are staged at once.
struct Facts {
    int first, n;
};

// Have the heads of facts copied. The last warp does it, and must wait for the copies.
__device__ __forceinline__ void fetch_heads(const Plan &plan, const Facts &facts, Head *head) {
    const int k = (int)threadIdx.x - (THREADS - 32);
    if (k < 0 || k >= facts.n) return;
    copy_async<16>(head + k, plan.head + facts.first + k);
    copy_async<16>((char *)(head + k) + 16, (const char *)(plan.head + facts.first + k) + 16);
}

// Have what belongs to query q copied, by the last warp too.
__device__ __forceinline__ void fetch_query(const Plan &plan, const Out *out, const i64 *watch, i64 q, Query *query) {
    const int k = (int)threadIdx.x - (THREADS - 32);
    if (k < 0 || k >= (int)(sizeof(Query) / 8) || q >= plan.n_queries) return;
    const i64 *from = k == 7 ? plan.exclude : k == 8 ? plan.cut : k == 9 ? plan.cap : k == 10 ? plan.shift : watch;
    if (from && k > 6) from += q;
    if (k <= 6) from = nullptr;
    if (k <= 6 && out) {
        const i64 *pairs[3] = {out->top_score, (const i64 *)out->top_key, out->top};
        from = k == 6 ? out->n_top + q : pairs[k / 2] + 2 * q + (k & 1);
    }
    if (from) copy_async<8>((i64 *)query + k, from);
}

// Have the tables of facts copied, whose heads are there. Rows of the time table start at multiples of 16 bytes.
__device__ __forceinline__ void fetch_tables(const Plan &plan, const Shared &s, const Facts &facts, const Head *head) {
#if TABLES_SHARED
    const int values = (int)plan.n_values;
    for (int j = threadIdx.x; j < facts.n * values; j += THREADS)
        copy_async<sizeof(T)>(s.value + j, plan.value + (i64)facts.first * values + j);
#if USE_TIME
    const int pieces = (int)plan.times_apart * (int)sizeof(T) / 16;
    int k = 0, j = threadIdx.x;
    while (true) {
        for (; j >= pieces; j -= pieces) k++;
        if (k >= facts.n) break;
        copy_async<16>((char *)(s.time + k * plan.times_apart) + 16 * j, (const char *)head[k].time + 16 * j);
        j += THREADS;
    }
#endif
#endif
}

#if TABLES_SHARED
typedef u32 Row;
#define VALUE_ROW(k) address(s.value + (k) * (int)plan.n_values)
#define TIME_ROW(k) address(s.time + (k) * (int)plan.times_apart)
#else
typedef const T *Row;
#define VALUE_ROW(k) (plan.value + (i64)(f0 + (k)) * plan.n_values)
#define TIME_ROW(k) (head[k].time)
#endif

// Add a stretch of a run: DEPTH postings per lane, 32 apart. No jumps between the loads, so that all are on their way at once.
template <bool WHOLE>
__device__ __forceinline__ void add_stretch(int p0, int n, const WORD *run, const Fact<Row> &fact, u32 acc) {
    WORD w[DEPTH];
    int x[DEPTH];
#pragma unroll
    for (int j = 0; j < DEPTH; j++) w[j] = WHOLE || p0 + 32 * j < n ? __ldg(run + p0 + 32 * j) : 0;
#pragma unroll
    for (int j = 0; j < DEPTH; j++) x[j] = addend(p0 + 32 * j, n, w[j], run, fact);
#pragma unroll
    for (int j = 0; j < DEPTH; j++)
        if (WHOLE || p0 + 32 * j < n)
            asm volatile("red.shared.add.s32 [%0], %1;" ::"r"(acc + 4 * (u32)local_of(w[j])), "r"(x[j]) : "memory");
}

__device__ __forceinline__ Fact<Row> fact_of(const Plan &plan, const Shared &s, i64 start, int f0, int k, int shift,
                                             const Head *head) {
    Fact<Row> fact = {VALUE_ROW(k), TIME_ROW(k), head[k].known, (int)plan.n_times - 2};
#if COMBINE == 2
    fact.factor = plan.factor + start;
    fact.floor = head[k].floor;
    fact.shift = shift;
    fact.log_table = s.log_table;
#endif
    return fact;
}

// Add the staged facts. Warps take stretches of the runs in turn.
__device__ __forceinline__ void add_facts(const Plan &plan, const Shared &s, i64 start, const Facts &facts, int shift,
                                          const Head *head) {
    const int lane = threadIdx.x & 31;
    const u32 acc = address(s.acc);
    int mine = threadIdx.x >> 5;
    for (int k = 0; k < facts.n; k++) {
        const WORD *run = head[k].run;
        const int length = head[k].length, whole = length / STRETCH, stretches = (length + STRETCH - 1) / STRETCH;
        const Fact<Row> fact = fact_of(plan, s, start, facts.first, k, shift, head);
        for (; mine < whole; mine += WARPS) add_stretch<true>(mine * STRETCH + lane, length, run, fact, acc);
        if (mine < stretches) {
            add_stretch<false>(mine * STRETCH + lane, length, run, fact, acc);
            mine += WARPS;
        }
        mine -= stretches;
    }
}

#if COMBINE == 1
// Lower each record that held every fact so far to its best event for fact k; one thread owns a record's events.
__device__ void least_fact(const Plan &plan, const Shared &s, int f0, int k, int turn, const Head *head) {
    const WORD *run = head[k].run;
    const int length = head[k].length;
    const Fact<Row> fact = fact_of(plan, s, 0, f0, k, 0, head);
    for (int p = threadIdx.x; p < length; p += THREADS) {
        const WORD w = run[p];
        const int local = local_of(w);
        if (REPEATS && p > 0 && local_of(run[p - 1]) == local) continue;
        const int x = max(pair(p, length, w, run, fact), 0);
        if (s.held[local] == turn) {
            s.held[local] = turn + 1;
            s.acc[local] = turn == 0 ? x : min(s.acc[local], x);
        }
    }
}
#endif

// Where a thread block stands in its queries.
struct Work {
    i64 b, q;
    int turn, first, stop, next_first, next_stop;
};

__device__ __forceinline__ Facts first_facts(const Plan &plan, int first, int stop) {
    return {first, min((int)plan.facts_at_once, stop - first)};
}

// Only asks where the facts of the next query lie: nobody waits for the answer here.
__device__ __forceinline__ void ask_ahead(const Plan &plan, Work &work) {
    const i64 q = min(work.q + gridDim.x, plan.n_queries - 1);
    work.next_first = plan.query_ptr[q];
    work.next_stop = plan.query_ptr[q + 1];
}

__device__ __forceinline__ Work begin(const Plan &plan, const Shared &s, i64 b, const Out *out, const i64 *watch) {
    Work work = {b, blockIdx.x, 0, plan.query_ptr[blockIdx.x], plan.query_ptr[blockIdx.x + 1]};
    ask_ahead(plan, work);
#if COMBINE == 2
    for (int k = threadIdx.x; k < 1024; k += THREADS) s.log_table[k] = plan.log_table[k];
#endif
    const Facts facts = first_facts(plan, work.first, work.stop);
    fetch_heads(plan, facts, s_head[0]);
    fetch_query(plan, out, watch, work.q, s_query);
    wait_for_copies();
    __syncthreads();
    fetch_tables(plan, s, facts, s_head[0]);
    return work;
}

__device__ __forceinline__ void advance(const Plan &plan, Work &work) {
    work.q += gridDim.x;
    work.turn++;
    work.first = work.next_first;
    work.stop = work.next_stop;
    ask_ahead(plan, work);
}

__device__ __forceinline__ void add_staged(const Index &ix, const Plan &plan, const Shared &s, const Work &work,
                                           const Facts &facts) {
    const Head *head = s_head[work.turn & 1];
#if COMBINE == 1
    for (int k = 0; k < facts.n; k++) {
        if (k > 0) __syncthreads();
        least_fact(plan, s, facts.first, k, facts.first + k - work.first, head);
    }
#else
    add_facts(plan, s, ix.first_record + work.b * BLOCK, facts, COMBINE == 2 ? (int)s_query[work.turn & 3].shift : 0, head);
#endif
}

// Leave in s.acc the sums of the block for the query at hand. A thread clears the records that it looked over itself, so it
// need not wait for others. Ends with all threads in step.
__device__ __forceinline__ void fill(const Index &ix, const Plan &plan, const Shared &s, const Work &work, const Out *out,
                                     const i64 *watch) {
    int4 *acc4 = (int4 *)s.acc;
    for (int k = threadIdx.x; k < BLOCK / 4; k += THREADS) acc4[k] = make_int4(0, 0, 0, 0);
#if COMBINE == 1
    for (int k = threadIdx.x; k < BLOCK / 4; k += THREADS) ((uint2 *)s.held)[k] = make_uint2(0, 0);
#endif
    wait_for_copies();
    __syncthreads();
    Facts facts = first_facts(plan, work.first, work.stop);
    const Facts next = first_facts(plan, work.next_first, work.next_stop);
    Head *ahead = s_head[(work.turn + 1) & 1];
    fetch_heads(plan, next, ahead);
    fetch_query(plan, out, watch, work.q + gridDim.x, s_query + ((work.turn + 1) & 3));
    add_staged(ix, plan, s, work, facts);
    // more facts than are staged at once come in turns
    while ((facts.first += facts.n) < work.stop) {
        facts.n = min((int)plan.facts_at_once, work.stop - facts.first);
        __syncthreads();
        fetch_heads(plan, facts, s_head[work.turn & 1]);
        wait_for_copies();
        __syncthreads();
        fetch_tables(plan, s, facts, s_head[work.turn & 1]);
        wait_for_copies();
        __syncthreads();
        add_staged(ix, plan, s, work, facts);
    }
    wait_for_copies();
    __syncthreads();
    fetch_tables(plan, s, next, ahead);
}

__device__ __forceinline__ int clamp_score(i64 x) { return (int)min(max(x, (i64)LOWEST), (i64)2147483647); }

// What the look over a block needs to know of its query, in 32 bits: 64 cost twice the instructions.
struct Bar {
    i64 start, q;
    int size, hole, cap;
};

__device__ __forceinline__ Bar bar_of(const Index &ix, i64 b, i64 q, i64 exclude, i64 cap) {
    Bar bar;
    bar.start = ix.first_record + b * BLOCK;
    bar.q = q;
    bar.size = (int)min((i64)BLOCK, ix.n_records - b * BLOCK);
    const i64 hole = exclude - bar.start;
    bar.hole = hole >= 0 && hole < bar.size ? (int)hole : -1;
    bar.cap = clamp_score(cap);
    return bar;
}

// Score of record k of the block, from its sum: all facts held, the record's factor, the cap.
__device__ __forceinline__ int finish(int sum, int k, const Bar &bar, const Plan &plan, const Shared &s) {
#if COMBINE == 1
    if (s.held[k] < plan.n_known[bar.q]) sum = 0;
#endif
#if FACTOR && COMBINE == 0
    if (sum != 0) sum = (int)__double2ll_rn((double)sum * fabs(plan.factor[bar.start + k]));
#endif
    return min(sum, bar.cap);
}

__device__ __forceinline__ bool allowed(int k, const Bar &bar, const Plan &plan) {
    if (k == bar.hole) return false;
#if FILTERED
    const i64 record = bar.start + k;
    return plan.low[bar.q] <= plan.lengths[record] && plan.lengths[record] <= plan.high[bar.q];
#else
    return true;
#endif
}

struct Entrant {
    int score;
    u64 key;
    i64 record;
};

__device__ __forceinline__ u64 tie_key(i64 record, i64 q, const Plan &plan) {
#if TIE == 1
    return (u64)plan.lengths[record];
#elif TIE == 2
    u64 x = (u64)record * 0x9E3779B97F4A7C15ULL + plan.salt[q];
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    // a random key never tells tied records apart: RANDOM_KEY in partials.py
    return ((x ^ (x >> 31)) >> 1) | (1ULL << 63);
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

// Whether two records tie: same score, and same length where the shorter record comes first.
__device__ __forceinline__ bool tied_with(const Entrant &a, const Entrant &b) {
    return a.record >= 0 && b.record >= 0 && a.score == b.score && (TIE != 1 || a.key == b.key);
}

// The first two of each warp, and how many of its records tie with the first.
__shared__ Entrant s_one[WARPS], s_two[WARPS];
__shared__ int s_tied[WARPS];

// First of a warp's entrants, on all its lanes.
__device__ Entrant first_of_warp(Entrant e) {
    for (int d = 16; d > 0; d >>= 1) {
        Entrant o;
        o.score = __shfl_xor_sync(ALL, e.score, d);
        o.key = __shfl_xor_sync(ALL, e.key, d);
        o.record = __shfl_xor_sync(ALL, e.record, d);
        if (before(o, e)) e = o;
    }
    return e;
}

// Best and second, of which an entrant may become one.
__device__ __forceinline__ void insert(const Entrant &e, Entrant &best, Entrant &second) {
    if (before(e, best)) {
        second = best;
        best = e;
    } else if (before(e, second)) {
        second = e;
    }
}

// The warp's first two records with at least the score `goal`, for enlist(). `top` is the thread's highest score.
__device__ __forceinline__ void promote(const Plan &plan, const Shared &s, const Bar &bar, int top, int goal) {
    Entrant one = {LOWEST, 0, -1}, two = {LOWEST, 0, -1};
    int tied = 0;
    const int4 *acc4 = (const int4 *)s.acc;
    if (__any_sync(ALL, top >= goal)) {
        // a thread looks at the same records as in look(): most have seen that none of theirs reaches the goal
        for (int k4 = threadIdx.x; top >= goal && k4 < (bar.size + 3) / 4; k4 += THREADS) {
            const int4 v = acc4[k4];
            const int four[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int k = 4 * k4 + j, x = finish(four[j], k, bar, plan, s);
                if (x < goal || k >= bar.size || !allowed(k, bar, plan)) continue;
                const Entrant e = {x, tie_key(bar.start + k, bar.q, plan), bar.start + k};
                if (tied_with(e, one))
                    tied++;
                else if (before(e, one))
                    tied = 1;
                insert(e, one, two);
            }
        }
        const Entrant first = first_of_warp(one);
        tied = __reduce_add_sync(ALL, tied_with(one, first) ? tied : 0);
        two = first_of_warp(one.record == first.record ? two : one);
        one = first;
    }
    if ((threadIdx.x & 31) == 0) {
        s_one[threadIdx.x >> 5] = one;
        s_two[threadIdx.x >> 5] = two;
        s_tied[threadIdx.x >> 5] = tied;
    }
}

// The first two of all warps join the best two of query q, and their ties its ties; none if q < 0. One warp does it.
__device__ __forceinline__ void enlist(i64 q, const Query &query, const Out &out) {
    if (threadIdx.x >= 32 || q < 0) return;
    const Entrant nobody = {LOWEST, 0, -1}, one = threadIdx.x < WARPS ? s_one[threadIdx.x] : nobody;
    const Entrant first = first_of_warp(one);
    const Entrant next = first_of_warp(one.record == first.record && threadIdx.x < WARPS ? s_two[threadIdx.x] : one);
    const int tied = __reduce_add_sync(ALL, tied_with(one, first) ? s_tied[threadIdx.x] : 0);
    if (threadIdx.x > 0) return;
    Entrant best = {(int)query.best_score, query.best_key, query.best};
    Entrant second = {(int)query.second_score, query.second_key, query.second};
    if (tied_with(first, best))
        out.n_top[q] = query.n_top + tied;
    else if (before(first, best))
        out.n_top[q] = tied;
    insert(first, best, second);
    insert(next, best, second);
    out.top_score[2 * q] = best.score;
    out.top_key[2 * q] = best.key;
    out.top[2 * q] = best.record;
    out.top_score[2 * q + 1] = second.score;
    out.top_key[2 * q + 1] = second.key;
    out.top[2 * q + 1] = second.record;
}

struct Sums {
    int top;
    i64 total;
    double squares;
    int n, n_watch, n_cut;
};

__shared__ Sums s_sums[WARPS];

__device__ __forceinline__ double sum_of_warp(double x) {
    for (int d = 16; d > 0; d >>= 1) x += __shfl_down_sync(ALL, x, d);
    return x;
}

// Sums of a warp on its first lane. 64-bit integers go by halves: |total| < 2^47, and no 32 parts of 26 bits pass 32 bits.
__device__ __forceinline__ Sums sums_of_warp(Sums a, bool counts) {
    a.top = __reduce_max_sync(ALL, a.top);
    a.total = (i64)__reduce_add_sync(ALL, (u32)a.total & 0x3FFFFFFu) + ((i64)__reduce_add_sync(ALL, (int)(a.total >> 26)) << 26);
    a.squares = sum_of_warp(a.squares);
    a.n = __reduce_add_sync(ALL, a.n);
    if (counts) {
        a.n_watch = __reduce_add_sync(ALL, a.n_watch);
        a.n_cut = __reduce_add_sync(ALL, a.n_cut);
    }
    return a;
}

// What a look over the block counts: scores at least watch and cut.
struct Marks {
    int watch, cut;
    bool counts;
};

__device__ __forceinline__ Marks marks_of(const Query &query) {
    return {clamp_score(query.watch), clamp_score(query.cut), query.watch <= 2147483647LL || query.cut <= 2147483647LL};
}

// Maximum, sum, sum of squares, number of candidates (where a filter makes it worth counting), numbers at least watch and cut.
__device__ __forceinline__ Sums look_closely(const Plan &plan, const Shared &s, const Bar &bar, const Marks &marks) {
    const int4 *acc4 = (const int4 *)s.acc;
    Sums a = {LOWEST, 0, 0.0, 0, 0, 0};
    for (int k4 = threadIdx.x; k4 < (bar.size + 3) / 4; k4 += THREADS) {
        const int4 v = acc4[k4];
        const int four[4] = {v.x, v.y, v.z, v.w};
        u64 squares = 0;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int k = 4 * k4 + j;
            if (k >= bar.size || !allowed(k, bar, plan)) continue;
            const int x = finish(four[j], k, bar, plan, s);
            a.top = max(a.top, x);
            a.total += x;
            squares += (u64)((i64)x * x);
            if (FILTERED) a.n += 1;
            a.n_watch += x >= marks.watch;
            a.n_cut += x >= marks.cut;
        }
        a.squares += (double)squares;
    }
    return a;
}

#define PLAIN (COMBINE != 1 && !FILTERED && !(FACTOR && COMBINE == 0))

// Scores from -2^30 to 2^30, four at a time: the squares of twelve fit into 64 bits; three that are not negative into 32.
// They are counted only where the largest makes it necessary.
template <int N>
__device__ __forceinline__ void add_fours(Sums &a, const int4 *at, int mark, const Marks &marks) {
    int4 v[N];
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = at[j * THREADS];
    u64 squares = 0;
    int top = LOWEST;
#pragma unroll
    for (int j = 0; j < N; j++) {
        top = max(max(max(top, v[j].x), v[j].y), max(v[j].z, v[j].w));
#if NONNEGATIVE
        a.total += (i64)(u64)((u32)v[j].x + (u32)v[j].y + (u32)v[j].z);
        a.total += (i64)(u64)(u32)v[j].w;
#else
        a.total += v[j].x;
        a.total += v[j].y;
        a.total += v[j].z;
        a.total += v[j].w;
#endif
        squares += (u64)((i64)v[j].x * v[j].x);
        squares += (u64)((i64)v[j].y * v[j].y);
        squares += (u64)((i64)v[j].z * v[j].z);
        squares += (u64)((i64)v[j].w * v[j].w);
    }
    a.top = max(a.top, top);
    a.squares += (double)squares;
    if (top < mark) return;
#pragma unroll
    for (int j = 0; j < N; j++) {
        a.n_watch += (v[j].x >= marks.watch) + (v[j].y >= marks.watch) + (v[j].z >= marks.watch) + (v[j].w >= marks.watch);
        a.n_cut += (v[j].x >= marks.cut) + (v[j].y >= marks.cut) + (v[j].z >= marks.cut) + (v[j].w >= marks.cut);
    }
}

// The same as look_closely where every record of the block is a candidate and its score is its sum.
__device__ __forceinline__ Sums look_over(const Shared &s, int size, const Marks &marks) {
    const int4 *acc4 = (const int4 *)s.acc;
    const int mark = min(marks.watch, marks.cut);
    Sums a = {LOWEST, 0, 0.0, 0, 0, 0};
    int k4 = threadIdx.x;
    for (; k4 + 2 * THREADS < size / 4; k4 += 3 * THREADS) add_fours<3>(a, acc4 + k4, mark, marks);
    for (; k4 < size / 4; k4 += THREADS) add_fours<1>(a, acc4 + k4, mark, marks);
    if (k4 == size / 4)
        for (int k = 4 * k4; k < size; k++) {
            const int x = s.acc[k];
            a.top = max(a.top, x);
            a.total += x;
            a.squares += (double)x * (double)x;
            a.n_watch += x >= marks.watch;
            a.n_cut += x >= marks.cut;
        }
    return a;
}

__device__ __forceinline__ Sums look(const Plan &plan, const Shared &s, const Bar &bar, const Marks &marks) {
    Sums a;
    if (PLAIN && bar.hole < 0 && bar.cap == 2147483647)
        a = look_over(s, bar.size, marks);
    else
        a = look_closely(plan, s, bar, marks);
    // without a filter all but the hole are candidates; one thread says so for all
    if (!FILTERED && threadIdx.x == 0) a.n = bar.size - (bar.hole >= 0);
    return a;
}

// One warp adds the warps' sums to the query's.
__device__ __forceinline__ void settle(i64 q, bool counts, const Out &out) {
    const int lane = threadIdx.x & 31;
    Sums a = {LOWEST, 0, 0.0, 0, 0, 0};
    if (lane < WARPS) a = s_sums[lane];
    a = sums_of_warp(a, counts);
    if (lane == 0) {
        // one thread block owns a query: the additions are atomic only so that nobody waits for them
        atomicAdd((u64 *)&out.n[q], (u64)a.n);
        atomicAdd((u64 *)&out.total[q], (u64)a.total);
        atomicAdd(&out.squares[q], a.squares);
        if (counts && a.n_watch) atomicAdd((u64 *)&out.n_watch[q], (u64)a.n_watch);
        if (counts && a.n_cut) atomicAdd((u64 *)&out.n_cut[q], (u64)a.n_cut);
    }
}

// The score from which on a record may belong to the query's best two, which have the scores `best` and `second` now, or tie
// with the best; false if none does. The second highest of the warps' maxima is a score that two records reach: nothing below it needs a closer
// look.
__device__ __forceinline__ bool goal_of(bool nobody, int best, int second, int *goal) {
    const int lane = threadIdx.x & 31;
    const int top = lane < WARPS ? s_sums[lane].top : LOWEST;
    const bool some = lane < WARPS && s_sums[lane].n > 0;
    const int high = __reduce_max_sync(ALL, top);
    const int leader = __ffs(__ballot_sync(ALL, top == high)) - 1;
    const int next = __reduce_max_sync(ALL, lane == leader ? LOWEST : top);
    *goal = nobody ? next : max(next, second);
    return __any_sync(ALL, some) && (nobody || high > second || (high == second && (TIE != 0 || high == best)));
}

extern "C" __global__ void __launch_bounds__(THREADS, PER_SM)
run_block(const __grid_constant__ Index ix, const __grid_constant__ Plan plan, const i64 *watch, const __grid_constant__ Out out,
          i64 b) {
    const Shared s = carve(plan);
    i64 promoted = -1;
    Work work = begin(plan, s, b, &out, watch);
    for (; work.q < plan.n_queries; advance(plan, work)) {
        fill(ix, plan, s, work, &out, watch);
        enlist(promoted, s_query[(work.turn - 1) & 3], out);
        const Query &query = s_query[work.turn & 3];
        const Bar bar = bar_of(ix, b, work.q, query.exclude, query.cap);
        const Marks marks = marks_of(query);
        Sums a = look(plan, s, bar, marks);
        const int top = a.top;
        a = sums_of_warp(a, marks.counts);
        if ((threadIdx.x & 31) == 0) s_sums[threadIdx.x >> 5] = a;
        __syncthreads();
        if (threadIdx.x < 32) settle(work.q, marks.counts, out);
        int goal;
        promoted = goal_of(query.second < 0, (int)query.best_score, (int)query.second_score, &goal) ? work.q : -1;
        // no need to wait for other warps: they are heard after the next query is scored
        if (promoted >= 0) promote(plan, s, bar, top, goal);
    }
    __syncthreads();
    enlist(promoted, s_query[(work.turn - 1) & 3], out);
}

__device__ __forceinline__ double exponential(double x) {
    if (!(x > -60.0)) return 0.0;
    return exp(x);
}

extern "C" __global__ void __launch_bounds__(THREADS, PER_SM)
mass_block(const __grid_constant__ Index ix, const __grid_constant__ Plan plan, const i64 *top, const double *beta, double *out,
           i64 b) {
    const Shared s = carve(plan);
    for (Work work = begin(plan, s, b, nullptr, nullptr); work.q < plan.n_queries; advance(plan, work)) {
        const Bar bar = bar_of(ix, b, work.q, plan.exclude[work.q], plan.cap[work.q]);
        const double high = (double)top[work.q], sharp = beta[work.q];
        fill(ix, plan, s, work, nullptr, nullptr);
        double mass = 0.0;
        for (int k = threadIdx.x; k < bar.size; k += THREADS)
            if (allowed(k, bar, plan)) mass += exponential(sharp * ((double)finish(s.acc[k], k, bar, plan, s) - high));
        mass = sum_of_warp(mass);
        if ((threadIdx.x & 31) == 0) s_sums[threadIdx.x >> 5].squares = mass;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int w = 1; w < WARPS; w++) mass += s_sums[w].squares;
            out[work.q] += mass;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, PER_SM)
dump_block(const __grid_constant__ Index ix, const __grid_constant__ Plan plan, int *out, i64 width, i64 b) {
    const Shared s = carve(plan);
    for (Work work = begin(plan, s, b, nullptr, nullptr); work.q < plan.n_queries; advance(plan, work)) {
        const Bar bar = bar_of(ix, b, work.q, plan.exclude[work.q], plan.cap[work.q]);
        fill(ix, plan, s, work, nullptr, nullptr);
        for (int k = threadIdx.x; k < bar.size; k += THREADS)
            out[work.q * width + bar.start + k] = allowed(k, bar, plan) ? finish(s.acc[k], k, bar, plan, s) : LOWEST;
        __syncthreads();
    }
}

// Where the runs of all facts lie in block b: the heads that the kernels above fetch.
extern "C" __global__ void find_heads(const __grid_constant__ Index ix, const __grid_constant__ Plan plan, i64 b) {
    const int n_facts = plan.query_ptr[plan.n_queries];
    for (int f = blockIdx.x * blockDim.x + threadIdx.x; f < n_facts; f += gridDim.x * blockDim.x) {
        const PTR *ptr = ix.ptr + b * (ix.n_items + 1) + plan.item[f];
        const T *time = plan.time + (i64)plan.time_row[f] * plan.times_apart;
        plan.head[f] = {ix.words + ptr[0], time, (int)(ptr[1] - ptr[0]), plan.known_day[f], COMBINE == 2 ? plan.floor[f] : 0.0};
    }
}

// Score of one record per query. A warp takes a query, and each lane looks for the record in the runs of its facts.
extern "C" __global__ void __launch_bounds__(THREADS, PER_SM)
peek_record(const __grid_constant__ Index ix, const __grid_constant__ Plan plan, const i64 *record, i64 *out) {
    const i64 warps = (i64)gridDim.x * WARPS;
    for (i64 q = (i64)blockIdx.x * WARPS + (threadIdx.x >> 5); q < plan.n_queries; q += warps) {
        const i64 local = record[q] - ix.first_record;
        if (local < 0 || local >= ix.n_records) continue;
        const i64 b = local / BLOCK;
        const int k = (int)(local - b * BLOCK);
        const Bar bar = bar_of(ix, b, q, plan.exclude[q], plan.cap[q]);
        if (!allowed(k, bar, plan)) continue;
        int sum = 0;
#if COMBINE == 1
        int least = 2147483647, met = 0;
#endif
        for (int f = plan.query_ptr[q] + (threadIdx.x & 31); f < plan.query_ptr[q + 1]; f += 32) {
            const PTR *ptr = ix.ptr + b * (ix.n_items + 1) + plan.item[f];
            const WORD *run = ix.words + ptr[0];
            const int n = (int)(ptr[1] - ptr[0]);
            int p = 0, stop = n;
            while (p < stop) {
                const int middle = (p + stop) / 2;
                if (local_of(run[middle]) < k)
                    p = middle + 1;
                else
                    stop = middle;
            }
            if (p >= n || local_of(run[p]) != k) continue;
            Fact<const T *> fact = {plan.value + (i64)f * plan.n_values, plan.time + (i64)plan.time_row[f] * plan.times_apart,
                                    plan.known_day[f], (int)plan.n_times - 2};
#if COMBINE == 2
            fact.factor = plan.factor + bar.start;
            fact.floor = plan.floor[f];
            fact.shift = (int)plan.shift[q];
            fact.log_table = plan.log_table;
#endif
#if COMBINE == 1
            least = min(least, max(pair(p, n, run[p], run, fact), 0));
            met++;
#else
            sum += addend(p, n, run[p], run, fact);
#endif
        }
#if COMBINE == 1
        least = __reduce_min_sync(ALL, least);
        met = __reduce_add_sync(ALL, met);
        sum = met > 0 && met >= plan.n_known[q] ? min(least, bar.cap) : min(0, bar.cap);
#else
        sum = finish(__reduce_add_sync(ALL, sum), k, bar, plan, Shared());
#endif
        if ((threadIdx.x & 31) == 0) out[q] = sum;
    }
}

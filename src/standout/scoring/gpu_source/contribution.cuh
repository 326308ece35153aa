// What one posting contributes to its record: words taken apart, logarithms, rows of tables.

__device__ __forceinline__ int local_of(WORD w) { return (int)(w & ((1u << LOCAL_BITS) - 1u)); }
__device__ __forceinline__ int code_of(WORD w) {
    return USE_VALUE ? (int)((w >> LOCAL_BITS) & (((WORD)1 << CODE_BITS) - 1)) : 0;
}
// Column of a time table by the signed gap: known minus entry's time (scoring/plan.py). `origin` is origin_of the fact.
__device__ __forceinline__ int column_of(WORD w, int origin, int last) {
    const int tick = (int)(w >> (8 * sizeof(WORD) - TICK_BITS));
    const int column = FOLDED ? min(abs(origin - tick), last) : min(max(origin - tick, 0) >> GAP_SHIFT, last);
    return MISSING_TICKS && tick == MISSING ? last + 1 : column;
}
// The same as scoring.fill.first_column_tick.
__device__ __forceinline__ int origin_of(const Plan &plan, int f) {
    if (FOLDED) return plan.known_tick[f];
    const int reach = max((int)plan.n_times - 2, 0) >> 1;
    return plan.known_tick[f] + (reach << GAP_SHIFT) + ((1 << GAP_SHIFT) >> 1);
}

// Natural logarithm of x >= 1 in 2^-24 units; the same integers as scoring.fill.fixed_log, in 32 bits where they hold it:
// (e * LN2 + (start << 20) + (rise * rest << 4) + 2^19) >> 20 with the lower 20 bits of LN2 taken apart.
__device__ __forceinline__ i64 fixed_log(double x, const i64 *table) {
    const u32 high = (u32)__double2hiint(x), low = (u32)__double2loint(x);
    const i64 piece = table[(high >> 10) & 1023];
    const u32 e = (high >> 20) - 1023, rest = __funnelshift_l(low, high, 6) & 0xFFFF, rise = (u32)piece, start = (u32)(piece >> 32);
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
    int origin, last;
    double floor;
    int shift;
    const FACTOR_TYPE *factor;
    const i64 *log_table;
};

template <typename Row>
__device__ __forceinline__ T entry(WORD w, const Fact<Row> &fact) {
    T x = at(fact.value, code_of(w));
#if USE_TIME
    const T y = at(fact.time, column_of(w, fact.origin, fact.last));
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

// What posting p of a run adds to its record's sum: nothing where it is not the first of its pair, or vetoed. `factor` is
// that of the record, for Combine.ODDS.
template <typename Row>
__device__ __forceinline__ int addend(int p, int n, WORD w, const WORD *run, const Fact<Row> &fact, double factor) {
#if REPEATS
    if (p >= n || (p > 0 && local_of(run[p - 1]) == local_of(w))) return 0;
#endif
    const T x = pair(p, n, w, run, fact);
#if COMBINE == 2
    return log_odds(x, factor, fact.floor, fact.shift, fact.log_table);
#else
    return !VETOES || x > HALF_VETO ? x : 0;
#endif
}

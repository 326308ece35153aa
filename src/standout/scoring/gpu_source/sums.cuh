// Numbers over all candidates of a block: largest, total, squares, counts.

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

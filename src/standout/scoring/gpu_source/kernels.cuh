// The kernels that Python launches.

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

// Where the runs of all facts lie in block b: the heads that the kernels above fetch.
extern "C" __global__ void find_heads(const __grid_constant__ Index ix, const __grid_constant__ Plan plan, i64 b) {
    const int n_facts = plan.query_ptr[plan.n_queries];
    for (int f = blockIdx.x * blockDim.x + threadIdx.x; f < n_facts; f += gridDim.x * blockDim.x) {
        const PTR *ptr = ix.ptr + b * (ix.n_items + 1) + plan.item[f];
        const T *time = plan.time + (i64)plan.time_row[f] * plan.times_apart;
        plan.head[f] = {ix.words + ptr[0], time, (int)(ptr[1] - ptr[0]), origin_of(plan, f), COMBINE == 2 ? plan.floor[f] : 0.0};
    }
}

// Write the factor of each posting's record beside the posting: runs then read their factors in sequence. `factor` is by
// record of the shard.
extern "C" __global__ void spread_factors(const __grid_constant__ Index ix, const FACTOR_TYPE *factor, FACTOR_TYPE *out, i64 b) {
    const PTR *ptr = ix.ptr + b * (ix.n_items + 1);
    for (i64 p = ptr[0] + blockIdx.x * blockDim.x + threadIdx.x; p < ptr[ix.n_items]; p += gridDim.x * blockDim.x)
        out[p] = factor[b * BLOCK + local_of(ix.words[p])];
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
                                    origin_of(plan, f), (int)plan.n_times - 2};
#if COMBINE == 2
            fact.factor = plan.posting_factor + (run - ix.words);
            fact.floor = plan.floor[f];
            fact.shift = (int)plan.shift[q];
            fact.log_table = plan.log_table;
#endif
#if COMBINE == 1
            least = min(least, max(pair(p, n, run[p], run, fact), 0));
            met++;
#else
            sum += addend(p, n, run[p], run, fact, COMBINE == 2 ? (double)fact.factor[p] : 0.0);
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

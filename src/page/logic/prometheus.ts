/** A sample of `/metrics`, which is in the Prometheus text format. */
export interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

export function samplesIn(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line)
    if (!match) return []
    const [, name = '', labels = '', value = ''] = match
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, label]) => [key, label])
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value.replace('+Inf', 'Infinity')) }]
  })
}

export const sumSamples = (
  samples: Sample[],
  name: string,
  where: (labels: Record<string, string>) => boolean = () => true,
) => samples.reduce((sum, one) => (one.name === name && where(one.labels) ? sum + one.value : sum), 0)

/** Cumulative counts by upper bound (seconds) of a histogram. */
export function readBuckets(samples: Sample[], name: string): Map<number, number> {
  const buckets = new Map<number, number>()
  for (const { name: one, labels, value } of samples) {
    if (one !== `${name}_bucket`) continue
    const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le)
    buckets.set(bound, (buckets.get(bound) ?? 0) + value)
  }
  return buckets
}

/** Quantile `share` of the requests between two samples, in seconds (a bucket's bound); undefined without requests. */
export function quantile(before: Map<number, number>, after: Map<number, number>, share: number): number | undefined {
  const bounds = [...after.keys()].sort((one, other) => one - other)
  const count = (bound: number) => (after.get(bound) ?? 0) - (before.get(bound) ?? 0)
  const all = count(Number.POSITIVE_INFINITY)
  if (all <= 0) return undefined
  const bound = bounds.find((one) => count(one) >= all * share)
  return bound === Number.POSITIVE_INFINITY ? bounds.at(-2) : bound
}

import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect } from 'preact/hooks'
import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import { quantile, readBuckets, type Sample, samplesIn, sumSamples } from '../logic/prometheus.ts'
import { formatCount, formatSize } from '../logic/values.ts'
import { Chart } from '../parts/chart.ts'

interface Look {
  at: number
  samples: Sample[]
}

const EVERY_MS = 2000
const ROOM = 60

/** Live charts of rates, latencies and storage. */
export function LiveMetrics() {
  const looks = useSignal<Look[]>([])
  useEffect(() => {
    const read = async () => {
      const response = await fetch('/metrics').catch(() => undefined)
      if (!response?.ok) return
      const samples = samplesIn(await response.text())
      looks.value = [...looks.value.slice(-ROOM), { at: performance.now(), samples }]
    }
    // A failed read leaves a gap in the charts; the next one follows soon.
    const look = () => void read().catch(() => {})
    look()
    const timer = setInterval(look, EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  const between = (make: (before: Look, after: Look) => number | undefined) =>
    looks.value.slice(1).map((after, index) => make(looks.value[index] as Look, after))
  const rate = (name: string) =>
    between(
      (before, after) =>
        ((sumSamples(after.samples, name) - sumSamples(before.samples, name)) * 1000) / (after.at - before.at),
    )
  const took = (name: string, share: number) =>
    between((before, after) => quantile(readBuckets(before.samples, name), readBuckets(after.samples, name), share))
  const level = (name: string) => looks.value.map(({ samples }) => sumSamples(samples, name))
  const perSecond = (value: number) => `${value.toFixed(1)}/s`
  const milliseconds = (value: number) => `≤ ${Number((value * 1000).toFixed(1))} ms`
  const whole = (value: number) => formatCount(Math.round(value))
  return html.div(
    { class: 'charts' },
    [
      { title: say('Requests'), values: rate('dossier_request_seconds_count'), format: perSecond },
      { title: say('Half within'), values: took('dossier_request_seconds', 0.5), format: milliseconds },
      { title: say('99 % within'), values: took('dossier_request_seconds', 0.99), format: milliseconds },
      { title: say('Changes'), values: rate('dossier_changes'), format: perSecond },
      { title: say('Commits within'), values: took('dossier_commit_seconds', 0.99), format: milliseconds },
      { title: say('Records'), values: level('dossier_records'), format: whole },
      { title: say('Database'), values: level('dossier_database_bytes'), format: formatSize },
      { title: say('Log'), values: level('dossier_wal_bytes'), format: formatSize },
      { title: say('Memory'), values: level('process_resident_memory_bytes'), format: formatSize },
      { title: say('Sessions'), values: level('dossier_sessions'), format: whole },
      { title: say('Open streams'), values: level('dossier_streams'), format: whole },
      { title: say('Turned away'), values: rate('dossier_shed_requests'), format: perSecond },
    ].map((chart) => h(Chart, { key: chart.title, room: ROOM, ...chart })),
  )
}

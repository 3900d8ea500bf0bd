import fc from 'fast-check'
import t from 'tap'
import { createPeriodFinder, formatPeriod, isZone, PERIODS } from '../../src/lib/calendar-period.ts'

const find = createPeriodFinder()
const naive = (moment: string, zone: string) =>
  new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' }).format(new Date(moment)).padStart(10, '0')

t.test('the day in a zone', async (t) => {
  const zones = [
    'Europe/London',
    'Atlantic/Azores',
    'America/St_Johns',
    'Pacific/Apia',
    'Asia/Kathmandu',
    'Africa/Cairo',
  ]
  const moment = fc.date({ min: new Date('1850-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  fc.assert(
    fc.property(moment, fc.constantFrom(...zones), (date, zone) => {
      const text = date.toISOString()
      t.equal(find(text, 'day', zone), naive(text, zone), `${text} ${zone}`)
    }),
    { numRuns: 300, seed: 3 },
  )
  for (let hour = 0; hour < 72; hour++) {
    const text = new Date(Date.parse('2011-12-29') + hour * 3_600_000 - 1).toISOString()
    t.equal(find(text, 'day', 'Pacific/Apia'), naive(text, 'Pacific/Apia'), text)
  }
})

t.test('periods of a day', async (t) => {
  for (const [day, ...expected] of [
    ['2024-02-29', '2024-02-29', '2024-W09', '2024-02', '2024-Q1', '2024'],
    ['2021-01-03', '2021-01-03', '2020-W53', '2021-01', '2021-Q1', '2021'],
    ['2024-12-30', '2024-12-30', '2025-W01', '2024-12', '2024-Q4', '2024'],
    ['0000-05-01', '0000-05-01', '0000-W00', '0000-05', '0000-Q2', '0000'],
    ['0001-01-01', '0001-01-01', '0001-W01', '0001-01', '0001-Q1', '0001'],
    ['9999-12-31', '9999-12-31', '9999-W52', '9999-12', '9999-Q4', '9999'],
  ] as [string, ...string[]][])
    t.strictSame(
      PERIODS.map((by) => formatPeriod(day, by)),
      expected,
    )
})

t.test('names of zones', async (t) => {
  for (const zone of ['UTC', 'Europe/Oslo', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5']) t.ok(isZone(zone), zone)
  for (let n = 0; n < 30; n++) find('2024-01-01T00:00:00.000Z', 'day', `Etc/GMT+${n % 12}`)
  for (let n = 0; n < 20_010; n++)
    find(new Date(Date.parse('1980-01-01') + n * 86_400_000).toISOString(), 'day', 'Etc/GMT+1')
  t.equal(find('2024-01-01T00:30:00.000Z', 'day', 'Etc/GMT+1'), '2023-12-31', 'also when much is remembered')
  for (const zone of Intl.supportedValuesOf('timeZone')
    .filter((name) => name.includes('/'))
    .slice(0, 25))
    t.equal(find('2024-01-01T00:30:00.000Z', 'day', zone), naive('2024-01-01T00:30:00.000Z', zone), zone)
  for (const zone of [
    'Europe/Nowhere',
    'CET',
    'US/Pacific-New',
    'toString',
    '',
    '+02:00',
    'Mars/Olympus',
    'Europe/Oslo; DROP',
    '../etc',
  ])
    t.notOk(isZone(zone), zone)
})

import t from 'tap'
import { RecentPages } from '../../src/lib/recent-pages.ts'

const page = (text: string) => ({ text, link: undefined })

t.test('keeps what is made a second time, for a second', async (t) => {
  let now = 5000
  const pages = new RecentPages(() => now)
  t.equal(pages.get('a'), undefined)
  pages.keep('a', page('A'))
  t.equal(pages.get('a'), undefined, 'it was made once')
  pages.keep('a', page('A'))
  now += 999
  t.strictSame(pages.get('a'), page('A'))
  now += 1
  t.equal(pages.get('a'), undefined, 'it is too old')
  pages.keep('a', page('A'))
  t.equal(pages.get('a'), undefined, 'and has to be made twice again')
})

t.test('keeps no long page, and not more than a hundred', async (t) => {
  const pages = new RecentPages(() => 0)
  const keepTwice = (key: string, text: string) => [1, 2].map(() => pages.keep(key, page(text)))
  keepTwice('short', 'x'.repeat(32_768))
  keepTwice('long', 'x'.repeat(32_769))
  t.equal(pages.get('short')?.text.length, 32_768)
  t.equal(pages.get('long'), undefined)
  for (let i = 1; i < 100; i++) keepTwice(String(i), 'x')
  t.ok(pages.get('short'))
  keepTwice('99', 'x')
  t.ok(pages.get('short'), 'what is there takes no more room')
  keepTwice('100', 'x')
  t.equal(pages.get('short'), undefined)
  t.ok(pages.get('100'))
})

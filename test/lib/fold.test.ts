import fc from 'fast-check'
import t from 'tap'
import { fold, foldPattern } from '../../src/lib/fold.ts'

/** By language: what is written, and what somebody types who is to find it. */
const SAME: Record<string, [string, string][]> = {
  German: [
    ['Müller', 'muller'],
    ['Straße', 'STRASSE'],
    ['GROẞ', 'gross'],
  ],
  French: [
    ['Élodie Lefèvre', 'elodie lefevre'],
    ['cœur', 'coeur'],
  ],
  Spanish: [
    ['José García', 'jose garcia'],
    ['Núñez', 'nunez'],
  ],
  Portuguese: [['João Conceição', 'joao conceicao']],
  Italian: [['Niccolò', 'niccolo']],
  Swedish: [['Ångström', 'angstrom']],
  Danish: [
    ['Sørensen', 'sorensen'],
    ['Ærø', 'aero'],
  ],
  Icelandic: [
    ['Þórður', 'thordur'],
    ['Guðrún', 'gudrun'],
  ],
  Polish: [
    ['Łódź', 'lodz'],
    ['Wałęsa', 'walesa'],
  ],
  Czech: [
    ['Dvořák', 'dvorak'],
    ['Žižka', 'zizka'],
  ],
  Hungarian: [['Erdős', 'erdos']],
  Croatian: [
    ['Đorđe', 'dorde'],
    ['Ǆ', 'dz'],
  ],
  Turkish: [
    ['İbrahim', 'ibrahim'],
    ['Çelik', 'celik'],
    ['Işık', 'isik'],
    ['ISPARTA', 'ısparta'],
  ],
  Maltese: [['Ħamrun', 'hamrun']],
  Vietnamese: [['Nguyễn Thị Ánh', 'nguyen thi anh']],
  Greek: [
    ['Οδυσσέας', 'οδυσσεας'],
    ['ΟΔΟΣ', 'οδος'],
    ['ᾳ', 'α'],
  ],
  Russian: [
    ['Ёлкин', 'елкин'],
    ['ЧАЙКОВСКИЙ', 'чайковскии'],
  ],
  Ukrainian: [['Київ', 'киів']],
  Japanese: [
    ['ｶﾞｽ', 'ガス'],
    ['が', 'か\u3099'],
  ],
  Korean: [['한국', '한국'.normalize('NFD')]],
  Hebrew: [['שלום', 'שלום']],
  any: [
    ['ＡＢＣ', 'abc'],
    ['ﬁn', 'fin'],
    ['a\u00a0\t\n b', 'a b'],
    ['ſ', 's'],
    ['1\u2003000', '1 000'],
  ],
}

/** Letters that differ only in a mark which is a part of the letter. */
const DIFFERENT: [string, string][] = [
  ['か', 'が'],
  ['は', 'ぱ'],
  ['कि', 'की'],
  ['ก่า', 'ก้า'],
  ['שׁ', 'שׂ'],
  ['ا', 'أ\u0655'],
  ['a b', 'ab'],
  ['о', 'o'],
]

t.test('what is found by what', async (t) => {
  for (const [language, pairs] of Object.entries(SAME))
    for (const [written, typed] of pairs) t.equal(fold(written), fold(typed), `${language}: ${written}, ${typed}`)
  for (const [one, other] of DIFFERENT) t.not(fold(one), fold(other), `${one}, ${other}`)
})

t.test('what is folded stays as it is', async () => {
  const text = fc.string({ unit: 'binary' })
  fc.assert(
    fc.property(text, (any) => fold(fold(any)) === fold(any) && !/\s\s|[\t-\r]/.test(fold(any))),
    { numRuns: 2000 },
  )
})

t.test('patterns', async (t) => {
  t.equal(foldPattern('MÜ%_\\%\\_\\\\ß\\x'), 'mu%_\\%\\_\\\\ssx')
  t.equal(foldPattern('１００％'), '100\\%', 'what folds to a wildcard is none')
  t.equal(foldPattern('a\\'), undefined)
  t.equal(foldPattern(''), '')
})

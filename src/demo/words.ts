/** Names and words of many languages, of which the demo's records are made. */

export const FIRST_NAMES = [
  ...['Ada', 'Mary Anne', 'Grace', 'Oliver', 'Siobhán', 'Rhys', 'Zoë', 'Björn', 'Åsa', 'Søren', 'Freyja', 'Aino'],
  ...['José', 'Inés', 'Lucía', 'João', 'Conceição', 'François', 'Chloé', 'Renée', 'Giulia', 'Niccolò', 'Eleni'],
  ...['Łukasz', 'Małgorzata', 'Jiří', 'Zdeňka', 'Ștefan', 'Đorđe', 'Željka', 'Gergő', 'Õnne', 'Jānis', 'Ugnė'],
  ...['Çelik', 'Ayşe', 'İbrahim', 'Нина', 'Юрій', 'Ольга', 'Νίκος', 'Tarō', '美咲', '伟', '지우', 'Ngọc', 'Phương'],
  ...['Aarav', 'Priya', 'सीता', 'Amina', 'محمد', 'ليلى', 'נועה', 'Kwame', 'Adaeze', 'Thandiwe', 'Zainab', 'Moana'],
]

export const LAST_NAMES = [
  ...['King', 'Hopper', "O'Brien", 'Lloyd-Jones', 'Ångström', 'Lindqvist', 'Sørensen', 'Jónsdóttir', 'Virtanen'],
  ...['García', 'Núñez', 'Fernandes', 'de la Fuente', 'Dvořák', 'Strauß', 'Müller', 'Groß', 'D’Angelo', 'Papadopoulou'],
  ...['Żółć', 'Wiśniewska', 'Novák', 'Ionescu', 'Petrović', 'Kovács', 'Tamm', 'Bērziņš', 'Öztürk', 'Yılmaz'],
  ...[
    'Іваненко',
    'Смирнова',
    'Yamada',
    '田中',
    '王',
    '김',
    'Nguyễn',
    'Sharma',
    'Khan',
    'حداد',
    'כהן',
    'Mensah',
    'Okafor',
  ],
]

/** City, country, and what a company there is called after its first word. */
export const CITIES: [city: string, country: string, form: string][] = [
  ['Oslo', 'Norway', 'AS'],
  ['Göteborg', 'Sweden', 'AB'],
  ['Hamburg', 'Germany', 'GmbH'],
  ['München', 'Germany', 'KG'],
  ['Łódź', 'Poland', 'sp. z o.o.'],
  ['Brno', 'Czechia', 's.r.o.'],
  ['İzmir', 'Türkiye', 'A.Ş.'],
  ['Málaga', 'Spain', 'S.L.'],
  ['Liège', 'Belgium', 'SA'],
  ['São Paulo', 'Brazil', 'Ltda.'],
  ['Kyōto', 'Japan', 'K.K.'],
  ['Nairobi', 'Kenya', 'Ltd.'],
]

export const COMPANY_WORDS = [
  ...['Nordlicht', 'Acme', 'Bolt & Sons', 'Yıldız', 'Tōkyō Shōji', 'Weiß und Söhne', 'Fjord', 'Kestrel', 'Alma'],
  ...['Brisa', 'Cobalt', 'Delta', 'Étoile', 'Falke', 'Granit', 'Horizon', 'Ilmatar', 'Juniper', 'Kupfer', 'Lumen'],
]

export const PRODUCTS: Record<string, string[]> = {
  chairs: ['Office chair', 'Stool', 'Visitor chair', 'Bench'],
  desks: ['Standing desk', 'Writing desk', 'Corner desk', 'Meeting table'],
  lighting: ['Desk lamp', 'Floor lamp', 'Ceiling lamp', 'Light strip'],
  storage: ['Shelf', 'Cabinet', 'Drawer unit', 'Locker'],
  'small parts': ['Cable tray', 'Coat hook', 'Door stop', 'Pen tray'],
}

export const FINISHES = ['oak', 'ash', 'brass', 'black', 'white', 'birch', 'steel', 'linen']
export const TAGS = ['vip', 'north', 'south', 'press', 'partner', 'newsletter', 'fair']
export const NOTES = [
  'Prefers to be called in the morning.',
  'Asked for an offer with longer warranty.',
  'Met at the fair; wants samples in oak.\nSend the catalogue.',
  'Pays early, likes to be asked before a delivery.',
]

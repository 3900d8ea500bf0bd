import type { Messages } from './messages.ts'

/** Refusals that name records. */
const OF_RECORDS: Messages = {
  '"{name}" would refer to nothing in the records {ids}.':
    '„{name}“ würde in diesen Datensätzen auf nichts verweisen: {ids}.',
  '"{name}" would refer to a {model} that does not exist, in the records {ids}.':
    '„{name}“ würde in diesen Datensätzen auf etwas verweisen, das es in {model} nicht gibt: {ids}.',
  '"{name}" would be computed, and what the records {ids} have stored there lost. Choose another name.':
    '„{name}“ würde berechnet, und was diese Datensätze dort gespeichert haben, ginge verloren: {ids}. Wählen Sie einen anderen Namen.',
  '"{name}" cannot take over the values of "{from}": the records {ids} have values of their own there. Take "renamedFrom" out, or clear them.':
    '„{name}“ kann die Werte von „{from}“ nicht übernehmen, denn diese Datensätze haben dort eigene: {ids}. Nehmen Sie "renamedFrom" heraus, oder leeren Sie sie.',
  '"{name}" cannot become {type} without loss in the records {ids}.':
    '„{name}“ kann in diesen Datensätzen nicht ohne Verlust zu {type} werden: {ids}.',
  '"{names}" cannot be unique: the records {ids} share a value.':
    '„{names}“ kann nicht eindeutig sein, denn diese Datensätze haben denselben Wert: {ids}.',
}

/** Those that name only some of the records. They come first, because the others match them as well. */
const ofMore = Object.entries(OF_RECORDS).map(([english, german]) => [
  english.replace('{ids}', '{ids} and more'),
  german.replace('{ids}', '{ids} und weitere'),
])

/** Effects of a change of a model, and reasons why it cannot be made, by the templates of the service. */
export const GERMAN_PLANS: Messages = {
  ...Object.fromEntries(ofMore),
  ...OF_RECORDS,
  'create the table': 'die Tabelle anlegen',
  'add the column {name}': 'die Spalte {name} hinzufügen',
  'fill in the default of {name} ({count} records)': 'den Vorgabewert von {name} eintragen ({count} Datensätze)',
  'rename {from} to {to}': '{from} in {to} umbenennen',
  'take {name} from {from}': '{name} von {from} übernehmen',
  'convert {name} from {from} to {to} ({count} records)': '{name} von {from} in {to} umwandeln ({count} Datensätze)',
  'change what {name} refers to': 'ändern, worauf {name} verweist',
  'compute {name} ({count} records)': '{name} berechnen ({count} Datensätze)',
  'recompute {name}': '{name} neu berechnen',
  'store {name}, which was computed': '{name} speichern, das bisher berechnet wurde',
  'sort {names} by folded text ({count} records)': '{names} für das Sortieren vorbereiten ({count} Datensätze)',
  'tidy up the columns of sort keys': 'die Spalten zum Sortieren aufräumen',
  'link {name} to {model} ({count} records)': '{name} mit {model} verknüpfen ({count} Datensätze)',
  'link {name}': '{name} verknüpfen',
  'drop the link table {name}': 'die Tabelle {name} der Verknüpfungen entfernen',
  'let go of the hidden reference {name}': 'den verborgenen Verweis {name} lösen',
  'leave the hidden column {name} alone': 'die verborgene Spalte {name} nicht mehr füllen',
  'drop the index {name}': 'den Index {name} entfernen',
  'make {names} unique': '{names} eindeutig machen',
  'index {names}': '{names} mit einem Index versehen',
  'end the history: further changes are not recorded':
    'den Verlauf beenden: weitere Änderungen werden nicht aufgezeichnet',
  'renew what happens when records change': 'neu festlegen, was beim Ändern von Datensätzen geschieht',
  'rebuild the table, after a backup': 'die Tabelle nach einer Sicherung neu anlegen',

  'The new field "{name}" is required, but the {count} {model} records that exist have no value for it. Give it a "default".':
    'Das neue Feld „{name}“ ist ein Pflichtfeld, aber die {count} vorhandenen Datensätze ({model}) haben keinen Wert dafür. Geben Sie ihm einen Vorgabewert („default“).',
  'The table {name} exists already, and is not that of a model. Choose another name.':
    'Die Tabelle {name} gibt es schon, und sie gehört zu keinem Modell. Wählen Sie einen anderen Namen.',
  'The field "{name}" differs from its column "{column}" only in case. Keep the earlier spelling, or say "renamedFrom": "{column}".':
    'Das Feld „{name}“ unterscheidet sich von seiner Spalte „{column}“ nur in der Groß- und Kleinschreibung. Behalten Sie die frühere Schreibweise, oder geben Sie "renamedFrom": "{column}" an.',
  'The name differs from that of {model}, whose table exists, only in case. Keep the earlier spelling.':
    'Der Name unterscheidet sich von {model}, dessen Tabelle es gibt, nur in der Groß- und Kleinschreibung. Behalten Sie die frühere Schreibweise.',
  'With its {hidden} hidden columns the table would have {count}, and at most {max} are possible.':
    'Mit ihren {hidden} verborgenen Spalten hätte die Tabelle {count}, und höchstens {max} sind möglich.',
  '"{name}" has more than {max} characters. Shorten the model\'s or the fields\' names.':
    '„{name}“ hat mehr als {max} Zeichen. Kürzen Sie den Namen des Modells oder der Felder.',
  '"{name}" would have its links in the table {table}, which exists already. Choose another name.':
    'Die Verknüpfungen von „{name}“ lägen in der Tabelle {table}, die es schon gibt. Wählen Sie einen anderen Namen.',
  'a rule compares "{field}", which has no index: set "index": true on it.':
    'eine Regel vergleicht „{field}“, das keinen Index hat: Geben Sie ihm "index": true.',
  'a rule compares "{field}" of {model}, which has no index: set "index": true on it.':
    'eine Regel vergleicht „{field}“ von {model}, das keinen Index hat: Geben Sie ihm "index": true.',
  'the role "{role}" may create records, but not write all fields that they need: it cannot create any.':
    'die Rolle „{role}“ darf Datensätze anlegen, aber nicht alle nötigen Felder schreiben: Sie kann keinen anlegen.',
}

import type { Messages } from './messages.ts'

/** Messages of the service about fields and requests, by its templates. */
export const GERMAN_MESSAGES: Messages = {
  'is required': 'fehlt',
  'is taken': 'ist schon vergeben',
  'the combination of {fields} is taken': 'die Verbindung von {fields} ist schon vergeben',
  'is not a known field.': 'ist kein bekanntes Feld.',
  'is not a known field. Did you mean "{name}"?': 'ist kein bekanntes Feld. Meinten Sie „{name}“?',
  'is too long to be indexed': 'ist zu lang für einen Index',
  'is not UTF-8 text. A spreadsheet writes that as "CSV UTF-8"':
    'ist kein Text in UTF-8. Eine Tabellenkalkulation schreibt ihn als „CSV UTF-8“',
  'must be a number with a comma before its fraction': 'muss eine Zahl mit Komma vor den Nachkommastellen sein',
  'must be a number with a point before its fraction': 'muss eine Zahl mit Punkt vor den Nachkommastellen sein',
  'is not valid JSON': 'ist kein gültiges JSON',
  'is a number that cannot be kept exactly': 'ist eine Zahl, die nicht genau gespeichert werden kann',
  'must be true or false': 'muss ja oder nein sein',
  'must be a number such as 1234.5': 'muss eine Zahl sein, etwa 1234,5',
  'must be a date such as 2024-02-29': 'muss ein Tag sein, etwa 29.02.2024',
  'must be a time with its offset, such as 10:30:00Z': 'muss eine Uhrzeit mit Zone sein, etwa 10:30:00Z',
  'must be a date and time with its offset, such as 2024-02-29T10:30:00Z':
    'muss Tag und Uhrzeit mit Zone sein, etwa 2024-02-29T10:30:00Z',
  'must be a decimal number such as 12.50': 'muss eine Dezimalzahl sein, etwa 12,50',
  'must be an e-mail address': 'muss eine E-Mail-Adresse sein',
  'must be an address such as https://example.org/': 'muss eine Adresse sein, etwa https://example.org/',
  'must be a UUID': 'muss eine UUID sein',
  'must be an integer': 'muss eine ganze Zahl sein',
  'must be a number': 'muss eine Zahl sein',
  'must be a string': 'muss ein Text sein',
  'must be a boolean': 'muss ja oder nein sein',
  'must be an array': 'muss eine Liste sein',
  'must be an object': 'muss ein Objekt sein',
  'must be one of {values}': 'muss einer dieser Werte sein: {values}',
  'must be equal to constant': 'muss der einzige erlaubte Wert sein',
  'must be >= {number}': 'muss mindestens {number} sein',
  'must be > {number}': 'muss größer als {number} sein',
  'must be <= {number}': 'darf höchstens {number} sein',
  'must be < {number}': 'muss kleiner als {number} sein',
  'must be multiple of {number}': 'muss ein Vielfaches von {number} sein',
  'must match pattern "{pattern}"': 'muss zum Muster „{pattern}“ passen',
  'must NOT have fewer than {count} characters': 'muss mindestens {count} Zeichen haben',
  'must NOT have more than {count} characters': 'darf höchstens {count} Zeichen haben',
  'must NOT have fewer than {count} items': 'muss mindestens {count} Einträge haben',
  'must NOT have more than {count} items': 'darf höchstens {count} Einträge haben',
  'must NOT have the same item twice': 'darf keinen Eintrag doppelt haben',
  'there is no {model} with the id {id}': 'es gibt {model} mit der Id {id} nicht',
  'there is no {model} of this name': 'es gibt {model} mit diesem Namen nicht',
  'there is no {model} with this id': 'es gibt {model} mit dieser Id nicht',
  'is the same record as in line {line}': 'ist derselbe Datensatz wie in Zeile {line}',
  'is the same as in line {line}': 'ist gleich wie in Zeile {line}',
  'is {version} by now, and not {other}': 'ist inzwischen {version} und nicht {other}',
  'has {cells} cells, but there are {columns} columns': 'hat {cells} Zellen, es gibt aber {columns} Spalten',
  'names no time zone: add Z or +02:00, or give the import a zone, such as zone=Europe/Oslo': 'nennt keine Zeitzone',
  '{fields} is not right.': '{fields} ist nicht richtig.',
  '{fields} are not right.': '{fields} sind nicht richtig.',
  'Another {model} has the same {fields}. Choose another value.':
    'Ein anderer Datensatz ({model}) hat denselben Wert in {fields}. Wählen Sie einen anderen.',
  '{records} still refer to {model} {id}. Change or delete those records first.':
    '{records} verweisen noch auf {model} {id}. Ändern oder löschen Sie diese Datensätze zuerst.',
  'You may not {operation} {model} records.': 'Das dürfen Sie mit {model} nicht tun ({operation}).',
  'You may not {operation} a {model} like this: it would be out of your reach. A rule of the model says which records are yours.':
    'So dürfen Sie {model} nicht speichern: Der Datensatz läge außerhalb Ihres Bereichs ({operation}).',
  'Nothing was written. There is one fault, by line and field.': 'Nichts wurde geschrieben. Es gibt einen Fehler.',
  'Nothing was written. There are {count} faults, by line and field.':
    'Nichts wurde geschrieben. Es gibt {count} Fehler, nach Zeile und Feld.',
  'Nothing was written. The first {count} faults are listed, by line and field.':
    'Nichts wurde geschrieben. Hier sind die ersten {count} Fehler, nach Zeile und Feld.',
  'The username or the password is not right.': 'Benutzername oder Passwort ist nicht richtig.',
  'Too many failed logins. Try again in {seconds} seconds.':
    'Zu viele Fehlversuche. Versuchen Sie es in {seconds} Sekunden wieder.',
  'The data cannot follow this change, so nothing was written.':
    'Die Daten können dieser Änderung nicht folgen; nichts wurde geschrieben.',
  'The model is not right, so nothing was written.': 'Das Modell ist nicht richtig; nichts wurde geschrieben.',
}

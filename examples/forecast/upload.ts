/**
 * Reads what sensors export: lines of CSV in the formats of several vendors, in the unit that the file names. Every
 * format becomes the same list of readings in mg/dL, oldest first; unusable values are counted, and not guessed.
 */

export interface Reading {
  /** Milliseconds. Files name no time zone: only differences count. */
  readonly at: number
  /** mg/dL. */
  readonly value: number
}

export interface Upload {
  readonly format: string
  readonly readings: readonly Reading[]
  /** Lines with something else than a reading: notes, calibrations, alarms. */
  readonly other: number
  /** Lines that should have a reading and have none that makes sense. */
  readonly unreadable: number
}

/** mg/dL in one mmol/L of glucose. */
const perMmol = 18.018
/** What sensors write instead of a number at the ends of their range. */
const words: Readonly<Record<string, number>> = { low: 39, lo: 39, high: 401, hi: 401 }

interface Format {
  readonly name: string
  /** Finds the columns in the line of headings; undefined when it is another format. */
  readonly columns: (headings: readonly string[]) => Columns | undefined
  readonly separator: string
}

interface Columns {
  /** One column, or date and time apart. */
  readonly time: readonly number[]
  readonly value: number
  readonly isMmol: boolean
  /** Which lines are readings of the sensor. */
  readonly kind?: { readonly column: number; readonly is: string }
  readonly isDayFirst?: boolean
}

const find = (headings: readonly string[], word: RegExp): number =>
  headings.findIndex((heading) => word.test(heading))

const formats: readonly Format[] = [
  {
    name: 'clarity',
    separator: ',',
    columns: (headings) => {
      const kind = find(headings, /^event type$/i)
      const time = find(headings, /^timestamp/i)
      const value = find(headings, /^glucose value/i)
      if (kind < 0 || time < 0 || value < 0) return undefined
      const isMmol = /mmol/i.test(headings[value]!)
      return { time: [time], value, isMmol, kind: { column: kind, is: 'EGV' } }
    },
  },
  {
    name: 'libreview',
    separator: ',',
    columns: (headings) => {
      const kind = find(headings, /^record type$/i)
      const time = find(headings, /^device timestamp$/i)
      const value = find(headings, /^historic glucose/i)
      if (kind < 0 || time < 0 || value < 0) return undefined
      const isMmol = /mmol/i.test(headings[value]!)
      return { time: [time], value, isMmol, kind: { column: kind, is: '0' }, isDayFirst: true }
    },
  },
  {
    name: 'date and time apart',
    separator: ';',
    columns: (headings) => {
      const date = find(headings, /^date$/i)
      const time = find(headings, /^time$/i)
      const value = find(headings, /glucose|sensor|value/i)
      if (date < 0 || time < 0 || value < 0) return undefined
      const isMmol = /mmol/i.test(headings[value]!)
      return { time: [date, time], value, isMmol, isDayFirst: true }
    },
  },
  {
    name: 'plain',
    separator: ',',
    columns: (headings) => {
      const time = find(headings, /^time$/i)
      const value = find(headings, /^value/i)
      return time < 0 || value < 0
        ? undefined
        : { time: [time], value, isMmol: /mmol/i.test(headings[value]!) }
    },
  },
]

/** How many lines may stand before the headings: a title, the name of the device. */
const headLines = 5

/** @throws a text for the client when no format fits. */
export function readUpload(csv: string): Upload {
  const lines = csv.split(/\r?\n/).filter((line) => line.trim() !== '')
  for (let head = 0; head < Math.min(headLines, lines.length); head++) {
    for (const format of formats) {
      const headings = cellsOf(lines[head]!, format.separator)
      const columns = format.columns(headings)
      if (columns !== undefined) return readLines(format, columns, lines.slice(head + 1))
    }
  }
  const known = formats.map(({ name }) => name).join(', ')
  throw new Error(`no line of headings was found; formats are: ${known}.`)
}

function readLines({ name, separator }: Format, columns: Columns, lines: string[]): Upload {
  const readings: Reading[] = []
  let other = 0
  let unreadable = 0
  for (const line of lines) {
    const cells = cellsOf(line, separator)
    const { kind } = columns
    if (kind !== undefined && cells[kind.column] !== kind.is) {
      other++
      continue
    }
    const at = readTime(columns.time.map((i) => cells[i] ?? '').join(' '), columns.isDayFirst)
    const value = readValue(cells[columns.value] ?? '', columns.isMmol)
    if (at === undefined || value === undefined) unreadable++
    else readings.push({ at, value })
  }
  readings.sort((a, b) => a.at - b.at)
  return { format: name, readings, other, unreadable }
}

/** Quotes hold separators; nothing here spans lines. */
function cellsOf(line: string, separator: string): string[] {
  const cells: string[] = []
  let cell = ''
  let isQuoted = false
  for (const sign of line) {
    if (sign === '"') isQuoted = !isQuoted
    else if (sign === separator && !isQuoted) {
      cells.push(cell.trim())
      cell = ''
    } else cell += sign
  }
  return [...cells, cell.trim()]
}

const isoTime = /^(\d{4})[-/](\d\d?)[-/](\d\d?)[T ](\d\d?):(\d\d)/
const dayFirstTime = /^(\d\d?)[-./](\d\d?)[-./](\d{4}) (\d\d?):(\d\d)/
const clockTime = /^(\d\d?):(\d\d)$/

function readTime(text: string, isDayFirst = false): number | undefined {
  const clock = clockTime.exec(text)
  if (clock !== null) return Date.UTC(2000, 0, 1, Number(clock[1]), Number(clock[2]))
  const iso = isoTime.exec(text)
  const [, first, second, third, hour, minute] = iso ?? dayFirstTime.exec(text) ?? []
  if (first === undefined) return undefined
  const [year, month, day] =
    iso !== null
      ? [first, second, third]
      : isDayFirst
        ? [third, second, first]
        : [third, first, second]
  const at = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute))
  return Number.isFinite(at) ? at : undefined
}

function readValue(text: string, isMmol: boolean): number | undefined {
  const word = words[text.toLowerCase()]
  if (word !== undefined) return word
  // A decimal comma is what is left when the separator is another sign.
  const number = text === '' ? NaN : Number(text.replace(',', '.'))
  if (!Number.isFinite(number)) return undefined
  return isMmol ? number * perMmol : number
}

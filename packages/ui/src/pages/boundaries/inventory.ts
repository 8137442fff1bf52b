/**
 * The part of an inventory that is shown. The file comes from outside: entries without the expected
 * form are left out.
 *
 *  B1  Whatever the file holds, reading it does not fail.
 */
export interface TaggedName {
  readonly tag: string
  readonly name: string
  readonly count: number
}

export interface MatrixRow {
  readonly component: string
  readonly loop: readonly string[]
  readonly elsewhere: readonly TaggedName[]
  readonly remaining: readonly TaggedName[]
}

export interface HotSpot {
  readonly name: string
  readonly file: string
  readonly line: number
  readonly way: readonly string[]
  readonly instead: string | undefined
}

type Fields = Readonly<Record<string, unknown>>

export function readMatrix(inventory: unknown): {
  readonly matrix: readonly MatrixRow[]
  readonly hotSpots: readonly HotSpot[]
} {
  const { matrix, hotSpots } = fieldsOf(inventory)
  return {
    matrix: objects(matrix).map((row) => ({
      component: text(row['component']),
      loop: texts(row['loop']),
      elsewhere: objects(row['elsewhere']).map(nameOf),
      remaining: objects(row['remaining']).map(nameOf),
    })),
    hotSpots: objects(hotSpots).map((spot) => ({
      name: text(spot['name']),
      file: text(spot['file']),
      line: Number(spot['line']) || 0,
      way: texts(spot['way']),
      instead: typeof spot['instead'] === 'string' ? spot['instead'] : undefined,
    })),
  }
}

function nameOf(fields: Fields): TaggedName {
  return {
    tag: text(fields['tag']),
    name: text(fields['name']),
    count: Number(fields['count']) || 1,
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function objects(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

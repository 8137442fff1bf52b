import { alignColumns } from './align.ts'
import type { Observation, Observed } from './row.ts'

/** Characters. Longer texts are printed below the table. */
const widestCell = 24

/** The observations: a line for each value, a column for each entrant, long texts below. */
export function renderObserved(observed: Readonly<Record<string, Observation>>): string[] {
  const entrants = Object.entries(observed).map(([name, each]) => ({ name, cells: flatten(each) }))
  if (entrants.length === 0) return []
  const labels = [...new Set(entrants.flatMap(({ cells }) => [...cells.keys()]))]
  const cellsOf = (label: string): string[] => entrants.map(({ cells }) => cells.get(label) ?? '')
  const isLong = (label: string): boolean => cellsOf(label).some((cell) => cell.length > widestCell)
  const table = alignColumns(
    [
      ['', ...entrants.map(({ name }) => name)],
      ...labels.filter((label) => !isLong(label)).map((label) => [label, ...cellsOf(label)]),
    ],
    'left',
  )
  const texts = labels.filter(isLong).flatMap((label) =>
    entrants.flatMap(({ name, cells }) => {
      const text = cells.get(label) ?? ''
      return text === '' ? [] : [`${name}, ${label}: ${text}`]
    }),
  )
  return ['', ...table, ...texts]
}

/** Values by the path to them: `{ rerun: { exit: 0 } }` is "rerun exit". */
function flatten(observation: Observation, prefix = ''): Map<string, string> {
  const cells = new Map<string, string>()
  for (const [key, value] of Object.entries(observation)) {
    const name = `${prefix}${key}`
    if (isObservation(value)) {
      for (const [inner, text] of flatten(value, `${name} `)) cells.set(inner, text)
    } else cells.set(name, textOf(value))
  }
  return cells
}

function isObservation(value: Observed): value is Observation {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: Exclude<Observed, Observation>): string {
  if (value === null) return 'n/a'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'object') return value.length === 0 ? '-' : value.join(' ')
  return String(value)
}

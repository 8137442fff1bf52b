/**
 * Everything that can be reached from an object, as text: the same text is the same structure, with the
 * same references inside of it. Not into trees and texts of files, which are never changed, and without the
 * numbers that linking gives to units and locations.
 */
export function shapeOf(start: object): string {
  const numbers = new Map<object, number>([[start, 0]])
  const rest: object[] = [start]
  const lines: string[] = []
  const refer = (value: unknown): string => {
    if (typeof value === 'function') return 'function'
    if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
    let number = numbers.get(value)
    if (number === undefined) {
      numbers.set(value, (number = numbers.size))
      rest.push(value)
    }
    return `#${number}`
  }
  for (let at = 0; at < rest.length; at++) {
    const value = rest[at]!
    const fields =
      value instanceof Map || value instanceof Set
        ? [...value].map((one: unknown) =>
            Array.isArray(one) ? `${refer(one[0])}: ${refer(one[1])}` : refer(one),
          )
        : Object.entries(value).map(([key, field]) =>
            left.has(key) ? key : `${key}: ${refer(field)}`,
          )
    lines.push(`${value.constructor.name} ${fields.join(', ')}`)
  }
  return lines.join('\n')
}

const left = new Set(['id', 'node', 'parsed'])

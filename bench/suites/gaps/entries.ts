/** A list of small objects, as queries and parsers return them. */
export function entriesOf(count: number): { id: number; name: string }[] {
  return Array.from({ length: count }, (_, id) => ({ id, name: `entry ${id}` }))
}

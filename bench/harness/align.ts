/** Cells under each other: the first column to the left, the others to the side that is given. */
export function alignColumns(
  rows: readonly (readonly string[])[],
  side: 'left' | 'right',
): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 || side === 'left'
          ? cell.padEnd(widths[column]!)
          : cell.padStart(widths[column]!),
      )
      .join('  ')
      .trimEnd(),
  )
}

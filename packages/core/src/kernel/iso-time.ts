/** A wall time as people and files write it: `2026-01-31T10:15:00.000Z`. */
export function isoTime(wallTime: number): string {
  return new Date(wallTime).toISOString()
}

/** The last moment that has a date, in milliseconds since 1970. */
export const latestTime = 8.64e15

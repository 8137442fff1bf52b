/** The bounds of `heddle runs prune`, as they are typed. */
import { InvalidArgumentError } from 'commander'

const ages: Readonly<Record<string, number>> = {
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Milliseconds: `90min`, `12h`, `30d`, `8w`. */
export function parseAge(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(min|h|d|w)$/.exec(text) ?? []
  if (number !== undefined) return Number(number) * ages[unit]!
  throw new InvalidArgumentError('Expected a number with min, h, d or w: 30d.')
}

const sizes: Readonly<Record<string, number>> = { kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 }

/** Bytes: `500MB`, `2GB`. */
export function parseSize(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(kB|MB|GB|TB)$/.exec(text) ?? []
  if (number !== undefined) return Math.round(Number(number) * sizes[unit]!)
  throw new InvalidArgumentError('Expected a number with kB, MB, GB or TB: 500MB.')
}

/** As parseSize() takes it, in the largest unit that needs no fraction. */
export function formatSize(bytes: number): string {
  const [unit = 'kB', size = 1e3] = Object.entries(sizes).findLast(([, n]) => bytes % n === 0) ?? []
  return `${bytes / size}${unit}`
}

/** Sizes in bytes, as they are typed on the command line. */
import { InvalidArgumentError } from 'commander'

/** Units from the smallest to the largest. */
const units = {
  kB: 1e3,
  KiB: 2 ** 10,
  MB: 1e6,
  MiB: 2 ** 20,
  GB: 1e9,
  GiB: 2 ** 30,
  TB: 1e12,
  TiB: 2 ** 40,
} as const

const unitSizes = new Map(Object.entries(units).map(([unit, size]) => [unit.toLowerCase(), size]))
const typed = /^(\d+(?:\.\d+)?)\s*([kmgt]i?b)?$/i

/** Bytes: `67108864`, `64MiB`, `2GB`. */
export function parseBytes(text: string): number {
  const { bytes } = readSize(text)
  if (isSize(bytes)) return bytes
  throw new InvalidArgumentError('Expected a number of bytes: 67108864, 64MiB, 2GB.')
}

/** Like {@link parseBytes}, but the unit is required: `--max-size 500` must not mean 500 bytes. */
export function parseSize(text: string): number {
  const { bytes, hasUnit } = readSize(text)
  if (hasUnit && isSize(bytes)) return bytes
  throw new InvalidArgumentError(
    'Expected a number with kB, MB, GB, TB, KiB, MiB, GiB or TiB: 500MB.',
  )
}

function readSize(text: string): { readonly bytes: number; readonly hasUnit: boolean } {
  const [, number, unit] = typed.exec(text.trim()) ?? []
  const size = unit === undefined ? 1 : unitSizes.get(unit.toLowerCase())!
  return { bytes: Math.round(Number(number) * size), hasUnit: unit !== undefined }
}

function isSize(bytes: number): boolean {
  return bytes >= 1 && Number.isSafeInteger(bytes)
}

/** Formats for parseSize(), in the largest unit that needs no fraction. */
export function formatSize(bytes: number): string {
  const [unit, size] = Object.entries(units).findLast(([, n]) => bytes % n === 0) ?? ['kB', 1e3]
  return `${bytes / size}${unit}`
}

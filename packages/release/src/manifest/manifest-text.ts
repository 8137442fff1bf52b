/** Manifests as text: the format is kept when a few values change. */
import { readFile } from 'node:fs/promises'
import { HeddleError } from '@heddle/core'
import type { Fields } from './local-range.ts'

/** @throws `HDL_BAD_MANIFEST` */
export function badManifest(file: string, problem: string, cause?: unknown): HeddleError {
  return new HeddleError('HDL_BAD_MANIFEST', { file, problem }, { cause })
}

/**
 * Its text, with the byte order mark if it has one. Bytes that are not UTF-8 are refused: they could
 * not be written back as they were.
 *
 * @throws `HDL_BAD_MANIFEST`, `HDL_STORE_FAILED` when it cannot be read.
 */
export async function readManifest(file: string): Promise<string> {
  let bytes: Buffer
  try {
    bytes = await readFile(file)
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error)
    throw new HeddleError(
      'HDL_STORE_FAILED',
      { store: file, action: 'be read', cause },
      { cause: error },
    )
  }
  return decodeManifest(file, bytes)
}

export function decodeManifest(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw badManifest(file, 'it is not UTF-8', error)
  }
}

export const withoutMark = (text: string): string => text.replace(/^\ufeff/, '')

/** @throws `HDL_BAD_MANIFEST` when it is not an object of JSON. */
export function parseJsonManifest(file: string, text: string): Fields {
  let found: unknown
  try {
    found = JSON.parse(withoutMark(text))
  } catch (error) {
    throw badManifest(file, (error as Error).message, error)
  }
  if (typeof found === 'object' && found !== null && !Array.isArray(found)) return found as Fields
  throw badManifest(file, 'it is not an object')
}

/** A manifest as text in the style of another: its indentation, its line ends, its last line. */
export function formatLike(manifest: Fields, style: string): string {
  const indent = /^[{[]\r?\n([ \t]+)/.exec(withoutMark(style).trimStart())?.[1] ?? '  '
  const isCompact = !withoutMark(style).trim().includes('\n')
  const text = JSON.stringify(manifest, undefined, isCompact ? undefined : indent)
  const end = /\r?\n$/.exec(style)?.[0] ?? ''
  return (style.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text) + end
}

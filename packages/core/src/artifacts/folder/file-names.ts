import { hash } from 'node:crypto'
import path from 'node:path'

/** The list of the artifacts of a run: a line of JSON for each that was written. */
export const indexName = 'index.jsonl'

/** Ends the name of a file that is being written and is not kept. */
const draftSuffix = '.draft'

/** Ends the name of an upload that can be resumed. */
export const partSuffix = '.part'

/** Says that the run is being removed from its journal. */
export const removalMark = 'removing'

/** How many characters of a name are kept, for people who read the folder. */
const longestStem = 60

/** F4: ids of runs are safe already; any other text is hashed. */
export function runFolderName(run: string): string {
  return /^[a-z0-9][a-z0-9-]{0,99}$/.test(run) ? run : `_${digest(run)}`
}

/**
 * The name of the file of an artifact: readable, with its extension, and different for each name and content.
 * Only letters, digits, points, dashes and underlines are left of the name.
 */
export function artifactFileName(name: string, sha256: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9._-]+/g, '_')
  const extension = /\.[A-Za-z0-9]{1,12}$/.exec(plain)?.[0] ?? ''
  const stem = plain.slice(0, plain.length - extension.length).replace(/^[._-]+/, '')
  return `${stem.slice(0, longestStem) || 'artifact'}-${digest(`${name}\n${sha256}`)}${extension}`
}

/** The file of an upload that can be resumed. */
export function partFileName(name: string, sha256: string, length: number): string {
  return `${digest(`${name}\n${sha256}\n${length}`)}${partSuffix}`
}

export function draftFileName(unique: number): string {
  return `${process.pid}-${Math.floor(unique * 2 ** 52).toString(36)}${draftSuffix}`
}

/** A name that came from the list: a list that was tampered with must not lead out of its folder. */
export function isFileName(file: string): boolean {
  return file === path.basename(file) && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(file)
}

function digest(text: string): string {
  return hash('sha256', text).slice(0, 16)
}

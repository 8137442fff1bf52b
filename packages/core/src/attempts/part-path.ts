/**
 * The paths that name the parts of a node: the elements of a map and the steps of a job. docs/design/growing.md has the
 * table. Journals keep them, so their form never changes.
 */
import { hash } from 'node:crypto'
import { HeddleError } from '../errors.ts'

/** What follows the name of a node in the name of a step. An element follows it directly: `parse[12]`. */
type Separator = ' ' | '/'

/** A step begins with one of these. */
const stepStart = '(?:run:|key:|wait:|sleep#)'

const ambiguous: Readonly<Record<Separator, RegExp>> = {
  ' ': new RegExp(`\\[| ${stepStart}`),
  '/': new RegExp(`\\[|/${stepStart}`),
}

/** The path of an element of a map: by its key, or by its index when it has none. */
export function elementPath(index: number, key: string | undefined): string {
  return key === undefined ? `[${index}]` : `[key=${encodeName('key', key)}]`
}

export function hasElementKey(path: string): boolean {
  return path.startsWith('[key=')
}

/** The index in the path of an element that has no key. */
export function elementIndexOf(path: string): number {
  return Number(path.slice(1, -1))
}

/** The path of a step that has a key. */
export function keyedStepPath(key: string): string {
  return `key:${encodeName('key', key)}`
}

/**
 * Steps may be nested thousands deep, and a path has the names of all that a step is inside of. Where these are longer than this, a
 * hash stands for them, so that each path is bounded and a journal grows with the number of its steps (docs/decisions/0520).
 */
const longestOuter = 400

/** What the paths of the steps of an element or a step begin with. */
export function stepPrefix(path: string): string {
  const start = elementLength(path)
  if (path.length - start <= longestOuter) return `${path}/`
  // 128 bits.
  const digest = hash('sha256', path.slice(start), 'base64url').slice(0, 22)
  return `${path.slice(0, start)}~${digest}/`
}

/** The path that a part has today. Earlier versions have written the names of all that a step is inside of. */
export function currentPath(path: string): string {
  const start = elementLength(path)
  if (path.lastIndexOf('/') - start <= longestOuter) return path
  const names = path.slice(start).split('/')
  const last = names.pop()!
  return names.reduce((prefix, name) => stepPrefix(prefix + name), path.slice(0, start)) + last
}

/** How many characters of a path name its element, with the slash after it. */
function elementLength(path: string): number {
  if (!path.startsWith('[')) return 0
  const slash = path.indexOf('/')
  return slash < 0 ? path.length : slash + 1
}

/** The beginning of the path of a step without a key. Its number among those of the same kind follows: {@link numberedPath}. */
export const stepKind = {
  run: (job: string) => `run:${encodeName('name of the job', job)}`,
  sleep: () => 'sleep',
  waitFor: (signal: string) => `wait:${encodeName('signal', signal)}`,
} as const

export function numberedPath(kind: string, number: number): string {
  return `${kind}#${number}`
}

/** The signal that the path of a wait or a sleep names: absent for a sleep. Undefined for the path of anything else. */
export function readWaitPath(path: string): { readonly signal?: string } | undefined {
  const found = /(?:^|\/)(?:wait:([^#/]*)|sleep)#\d+$/.exec(path)
  if (found === null) return undefined
  const [, signal] = found
  return signal === undefined ? {} : { signal: decodeURIComponent(signal) }
}

/** The name of a part in its run; that of the node when the path is empty. */
export function joinPath(node: string, path: string, separator: Separator): string {
  return path === '' || path.startsWith('[') ? node + path : node + separator + path
}

/** Whether the name of a node could be taken for the name of a part of another node. */
export function looksLikePart(node: string, separator: Separator): boolean {
  return ambiguous[separator].test(node)
}

/**
 * The owner of artifacts and keys of a node or a part, by the name of that piece of work: names are unique in a run.
 */
export function ownerName(node: string, work: string): string {
  return looksLikePart(node, ' ') ? JSON.stringify(node) + work.slice(node.length) : work
}

/** The node in the name of an owner. */
export function nodeOfOwner(owner: string): string {
  const quoted = quotedNode(owner)
  if (quoted !== undefined && looksLikePart(quoted, ' ')) return quoted
  const part = ambiguous[' '].exec(owner)
  return part === null ? owner : owner.slice(0, part.index)
}

function quotedNode(owner: string): string | undefined {
  const [quoted] = /^"(?:[^"\\]|\\.)*"/su.exec(owner) ?? []
  try {
    return quoted === undefined ? undefined : (JSON.parse(quoted) as string)
  } catch {
    // The quotes belong to the name of the node.
    return undefined
  }
}

/**
 * A name as a path has it.
 * @throws `HDL_BAD_OPTION` for half a character, which no journal keeps.
 */
function encodeName(option: string, name: string): string {
  if (name.isWellFormed()) return encodeURIComponent(name)
  const expected = 'a string of whole characters (it has half of a surrogate pair)'
  throw new HeddleError('HDL_BAD_OPTION', { option, value: name, expected })
}

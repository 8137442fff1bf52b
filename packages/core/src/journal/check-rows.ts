/** Checks of rows before they are written: the caller that made a mistake gets the error, not every caller of a failed batch. */
import { HeddleError } from '../errors.ts'
import { checkMoment, checkName, checkText } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import { Slices } from '../kernel/slices.ts'
import { toStored } from '../store/stored-text.ts'
import type { NodeHeader, RunHeader, RunHolder } from './journal.ts'

function refuse(option: string, value: unknown, expected: string): never {
  throw new HeddleError('HDL_BAD_OPTION', { option, value, expected })
}

function checkNumber(option: string, value: unknown): void {
  if (!Number.isFinite(value)) refuse(option, value, 'a number')
}

export function checkHolder(holder: RunHolder): void {
  checkNumber('pid', holder.pid)
  checkText('host', holder.host)
  checkText('command', holder.command)
}

/** Checks the header without the nodes: there may be a million of them. */
export function checkHeader(header: RunHeader): void {
  checkName('id', header.id)
  checkLength('id', header.id)
  if (header.key !== undefined) checkRunKey(header.key)
  checkText('title', header.title)
  checkNumber('startedAt', header.startedAt)
  checkHolder(header)
  if (!Array.isArray(header.nodes)) refuse('nodes', header.nodes, 'a list of nodes')
}

/** The nodes of a header, a slice at a time. */
export async function checkNodes(nodes: readonly NodeHeader[], clock: Clock): Promise<void> {
  const slices = new Slices(clock)
  for (const node of nodes) {
    checkNode(node)
    if (slices.due) await slices.next()
  }
}

/** Half of a surrogate pair cannot be stored, so that the name would come back as another one. */
function checkNodeName(option: string, name: string): void {
  checkName(option, name)
  if (!name.isWellFormed()) refuse(option, name, 'a well-formed string')
}

/** Bytes of text that an entry in an index of PostgreSQL can hold. */
const longestName = 2_048

/** Bytes of a character, and of one that is escaped (store/stored-text.ts), at most. */
const mostPerCharacter = 5

function checkLength(option: string, name: string): void {
  if (name.length * mostPerCharacter <= longestName) return
  if (Buffer.byteLength(toStored(name)) <= longestName) return
  refuse(option, `${name.slice(0, 20)}…`, `a string of at most ${longestName} bytes`)
}

/** Two keys that a store cannot distinguish would be one run. */
export function checkRunKey(key: string): void {
  checkNodeName('key', key)
  // Node 22 reads text from SQLite up to the first U+0000.
  if (key.includes('\0')) refuse('key', key, 'a string without U+0000')
  checkLength('key', key)
}

/** What the row of a node or of its log says besides its state. */
export function checkRow(row: {
  readonly node: string
  readonly attempt: number
  readonly at: number
}): void {
  checkNodeName('node', row.node)
  if (!Number.isInteger(row.attempt)) refuse('attempt', row.attempt, 'a whole number')
  checkMoment('at', row.at)
}

export function checkNode(node: NodeHeader): void {
  checkNodeName('name', node.name)
  checkLength('name', node.name)
  checkText('job', node.job)
  checkText('place', node.place)
  if (!Array.isArray(node.after)) refuse('after', node.after, 'a list of names')
}

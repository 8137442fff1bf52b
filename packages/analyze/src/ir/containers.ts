/** Maps, sets, lists and stores: the effects of their methods on entries. */
import type { Expression, Node } from 'oxc-parser'
import { entryOf, keyNumber } from './expressions.ts'
import type { WriteKind } from './graph.ts'
import type { HostLowering } from './host.ts'
import type { Location } from './locations.ts'
import { unknown } from './values.ts'
import type { Value } from './values.ts'

type Effect =
  | { readonly on: 'entry' | 'whole'; readonly read: true; readonly write?: WriteKind }
  | { readonly on: 'entry' | 'whole'; readonly read?: false; readonly write: WriteKind }

const effects = new Map<string, Effect>([
  ['get', { on: 'entry', read: true }],
  ['has', { on: 'entry', read: true }],
  ['includes', { on: 'entry', read: true }],
  ['indexOf', { on: 'entry', read: true }],
  ['set', { on: 'entry', write: 'fill' }],
  ['add', { on: 'entry', write: 'fill' }],
  ['delete', { on: 'entry', write: 'drop' }],
  ['remove', { on: 'entry', write: 'drop' }],
  ['clear', { on: 'whole', write: 'reset' }],
  ['push', { on: 'whole', write: 'append' }],
  ['unshift', { on: 'whole', write: 'append' }],
  ['pop', { on: 'whole', read: true, write: 'drop' }],
  ['shift', { on: 'whole', read: true, write: 'drop' }],
  ['splice', { on: 'whole', read: true, write: 'drop' }],
  ['forEach', { on: 'whole', read: true }],
  ['values', { on: 'whole', read: true }],
  ['keys', { on: 'whole', read: true }],
  ['entries', { on: 'whole', read: true }],
  ['map', { on: 'whole', read: true }],
  ['filter', { on: 'whole', read: true }],
  ['find', { on: 'whole', read: true }],
  ['some', { on: 'whole', read: true }],
  ['every', { on: 'whole', read: true }],
  ['join', { on: 'whole', read: true }],
  ['slice', { on: 'whole', read: true }],
])

/** Stores that answer later name the same things in more ways. */
const storeEffects = new Map<string, Effect>([
  ...effects,
  ['getItem', { on: 'entry', read: true }],
  ['setItem', { on: 'entry', write: 'fill' }],
  ['removeItem', { on: 'entry', write: 'drop' }],
  ['put', { on: 'entry', write: 'fill' }],
  ['del', { on: 'entry', write: 'drop' }],
  ['exists', { on: 'entry', read: true }],
])

/** Emits the effects of the call; undefined when it is not such a call. The value contains the reads. */
export function containerEffects(
  cx: HostLowering,
  object: Value,
  name: string,
  args: readonly Node[],
  values: readonly Value[],
  isAwaited: boolean,
  node: { readonly start: number; readonly end: number },
): Value | undefined {
  const container = object.location
  if (container === undefined) return undefined
  const effect = (isAwaited ? storeEffects : effects).get(name)
  if (effect === undefined) return undefined
  const key = args[0]
  if (effect.on === 'entry' && (key === undefined || key.type === 'SpreadElement')) return undefined
  const location =
    effect.on === 'whole'
      ? container
      : isAwaited
        ? storeEntry(cx, container, key as Expression)
        : entryOf(cx, container, key as Expression)
  if (isAwaited && effect.on === 'whole') return undefined
  let result: Value = unknown
  if (effect.read === true) {
    const access = cx.read(location, node.start, node.end)
    result = { reads: [access], ...(effect.on === 'entry' && !isAwaited && { location }) }
  }
  if (effect.write !== undefined)
    cx.write(location, effect.write, values[1] ?? values[0] ?? unknown, node.start, node.end)
  return result
}

/** An entry that lives behind an `await`: no lock can hold it still. */
function storeEntry(cx: HostLowering, store: Location, key: Expression): Location {
  const number = keyNumber(cx, key) ?? `@${key.start}`
  const text = cx.file.file.parsed.text.slice(key.start, Math.min(key.end, key.start + 40))
  return cx.file.table.external(
    cx.file.file,
    'store',
    `${store.key}[${number}]`,
    `${store.name}[${text}]`,
  )
}

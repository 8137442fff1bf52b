/**
 * Looks at the loop when a synchronous function of Node returns.
 *
 * V8 answers the watchdog's question at the next call of a JavaScript function or the next turn of
 * a loop. After `JSON.parse` or `readFileSync` that may be in other code: the caller has returned,
 * and the next code would be blamed. So while a watch runs, the functions that can block for long
 * are replaced by ones that call the original and then look whether the watchdog is waiting. The
 * caller is still on the stack then. It costs a read of shared memory for each call.
 *
 *  N1  A replaced function behaves as the original: same arguments, `this`, result, error, name,
 *      length and properties.
 *  N2  When the last watch has stopped, the originals are back, except where other code has put its
 *      own function over ours.
 *  N3  Where a function cannot be replaced (frozen intrinsics), nothing happens.
 *
 * Known limits: a reference that was taken before the watch started (`const { readFileSync } =
 * require('fs')`) stays the original; imports of ES modules follow. Other native code, such as that
 * of addons, is seen right after it, as docs/design/watch.md says.
 */
import childProcess from 'node:child_process'
import crypto from 'node:crypto'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import zlib from 'node:zlib'

/** Called after each native call, with its name. */
export type OnNativeReturn = (name: string) => void

type Callable = (this: unknown, ...args: unknown[]) => unknown
type Owner = Record<string, unknown>

interface Replacement {
  readonly owner: Owner
  readonly key: string
  readonly original: Callable
  readonly ours: Callable
}

const listeners = new Set<OnNativeReturn>()
let replacements: Replacement[] = []

function* blockingFunctions(): Generator<readonly [Owner, string, string]> {
  yield [JSON as unknown as Owner, 'parse', 'JSON.parse']
  yield [JSON as unknown as Owner, 'stringify', 'JSON.stringify']
  yield [globalThis, 'structuredClone', 'structuredClone']
  // The default export is the object that require() returns; the namespace of a module is frozen.
  const modules = {
    'node:fs': fs,
    'node:crypto': crypto,
    'node:zlib': zlib,
    'node:child_process': childProcess,
  }
  for (const [module, owner] of Object.entries(modules)) {
    for (const key of Object.keys(owner)) {
      if (key.endsWith('Sync')) yield [owner, key, `${key} (${module})`]
    }
  }
}

function replace(owner: Owner, key: string, name: string): Replacement | undefined {
  const descriptor = Object.getOwnPropertyDescriptor(owner, key)
  const original: unknown = descriptor?.value
  if (typeof original !== 'function' || descriptor?.writable !== true) return undefined
  const ours: Callable = function (this: unknown, ...args) {
    try {
      return Reflect.apply(original, this, args) as unknown
    } finally {
      for (const listener of listeners) listener(name)
    }
  }
  Object.defineProperties(ours, Object.getOwnPropertyDescriptors(original))
  owner[key] = ours
  return { owner, key, original: original as Callable, ours }
}

/** Calls `onReturn` after each synchronous function of Node that can block, until it is disposed. */
export function watchNativeCalls(onReturn: OnNativeReturn): Disposable {
  // Each registration counts for itself.
  const listener: OnNativeReturn = (name) => onReturn(name)
  if (listeners.size === 0) {
    for (const [owner, key, name] of blockingFunctions()) {
      const replacement = replace(owner, key, name)
      if (replacement !== undefined) replacements.push(replacement)
    }
    syncBuiltinESMExports()
  }
  listeners.add(listener)
  return {
    [Symbol.dispose]: () => {
      if (!listeners.delete(listener) || listeners.size > 0) return
      for (const { owner, key, original, ours } of replacements) {
        if (owner[key] === ours) owner[key] = original
      }
      replacements = []
      syncBuiltinESMExports()
    },
  }
}

/**
 * The entry of threads when this package is part of a bundle: list `@heddle/core/thread` as an entry point of the
 * bundler, under the name `heddle-thread`. It is not imported by programs (docs/guide/bundlers.md).
 */
// oxlint-disable-next-line import/no-unassigned-import -- it ends the thread on a Node that is too old
import './kernel/node-version.ts'
import { workerData } from 'node:worker_threads'
import type { ThreadRole } from './kernel/thread-file.ts'

const starts: Readonly<Record<ThreadRole, () => Promise<unknown>>> = {
  jobs: () => import('./threads/entry.ts'),
  watchdog: () => import('./watch/watchdog-thread.ts'),
  journalWriter: () => import('./journal/sqlite/writer-thread.ts'),
  journalReader: () => import('./journal/sqlite/reader-thread.ts'),
  diskCache: () => import('./cache/tiers/disk/disk-thread.ts'),
}

const { role } = (workerData ?? {}) as { readonly role?: ThreadRole }
// Without await, which a CommonJS bundle cannot have at its top level. A rejection ends the thread with its reason.
// oxlint-disable-next-line typescript/no-floating-promises -- see above
if (role !== undefined) void starts[role]()

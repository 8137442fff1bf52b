/**
 * `node:sqlite`, loaded when this module runs. A static import would be resolved before any code runs: a Node
 * without it would end with its own message instead of our sentence (kernel/node-version.ts).
 */
import type { DatabaseSync as NodeDatabase } from 'node:sqlite'

export const DatabaseSync: typeof NodeDatabase =
  process.getBuiltinModule('node:sqlite').DatabaseSync
export type DatabaseSync = NodeDatabase

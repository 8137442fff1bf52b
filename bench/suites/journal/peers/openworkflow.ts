/** OpenWorkflow on `node:sqlite`. It writes on the loop. */
import path from 'node:path'
import { BackendSqlite } from 'openworkflow/sqlite'
import type { OpenQueue } from '../contract.ts'
import { workFolder } from '../../../servers/work-folder.ts'
import { openSteps } from './openworkflow-steps.ts'

export const open: OpenQueue = async (options) => {
  const backend = BackendSqlite.connect(path.join(await workFolder(), 'openworkflow.db'))
  // FULL is the default of SQLite.
  if (options.durability === 'process') backend.db.exec('PRAGMA synchronous = NORMAL')
  return openSteps(backend, 1, options)
}

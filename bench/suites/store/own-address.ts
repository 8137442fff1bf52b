import path from 'node:path'
import { workFolder } from '../../servers/work-folder.ts'
import { addressIn, needs, postgresVariable } from '../journal/needs.ts'

/** The databases that a store of ours can be on. */
export type Backend = 'SQLite' | 'PostgreSQL'

export function needsOf(backend: Backend): readonly string[] {
  return backend === 'PostgreSQL' ? [needs.postgres] : []
}

/** A store of its own for each child. */
export async function ownAddress(backend: Backend): Promise<string> {
  if (backend === 'SQLite') return `sqlite:${path.join(await workFolder(), 'store.db')}`
  return `${addressIn(postgresVariable)}?schema=heddle_${process.pid}`
}

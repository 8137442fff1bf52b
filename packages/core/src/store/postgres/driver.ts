/** The driver, `pg`: an optional peer, loaded only when an address of PostgreSQL is used (docs/decisions/0177). */
import type pg from 'pg'
import { HeddleError } from '../../errors.ts'

export type PgClient = pg.Client

/** @throws `HDL_NO_DRIVER`. */
export async function loadDriver(): Promise<typeof pg.Client> {
  try {
    const { default: driver } = await import('pg')
    return driver.Client
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new HeddleError('HDL_NO_DRIVER', { database: 'PostgreSQL', driver: 'pg' })
  }
}

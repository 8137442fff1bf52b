/** What entrants of this suite need, and the variables that say where it is. */
export const needs = {
  peers: 'peers',
  redisAlways: 'redis always',
  redisEverysec: 'redis everysec',
  postgres: 'postgres',
} as const

export const redisVariable = {
  fsync: 'HEDDLE_BENCH_REDIS_ALWAYS',
  process: 'HEDDLE_BENCH_REDIS_EVERYSEC',
} as const

export const postgresVariable = 'HEDDLE_BENCH_POSTGRES'

/** The address of a server that the bench has started. */
export function addressIn(variable: string): string {
  const address = process.env[variable]
  if (address === undefined) throw new Error(`${variable} is not set: the bench sets it`)
  return address
}

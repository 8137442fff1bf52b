/** What entrants of this suite need, and the variable that says where it is. */
export const needs = { peers: 'peers', registry: 'verdaccio' } as const

export const registryVariable = 'HEDDLE_BENCH_REGISTRY'

/** The address of the registry that the bench has started. */
export function registryAddress(): string {
  const address = process.env[registryVariable]
  if (address === undefined) throw new Error(`${registryVariable} is not set: the bench sets it`)
  return address
}

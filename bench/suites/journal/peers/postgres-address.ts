import type { Durability } from '../contract.ts'
import { addressIn, postgresVariable } from '../needs.ts'

/** PostgreSQL waits for the disk before it acknowledges, unless this option is off. */
export function postgresAddress(durability: Durability): string {
  const address = addressIn(postgresVariable)
  if (durability === 'fsync') return address
  return `${address}?options=${encodeURIComponent('-c synchronous_commit=off')}`
}

import { KeyedMutex } from '@heddle/core/lowlevel'

/** Forgets the lock of an account when nobody holds it and nobody waits. */
const locks = new KeyedMutex<string>()
const totals = new Map<string, number>()

export function totalOf(account: string): number {
  return totals.get(account) ?? 0
}

/** Adds to an account, one after the other for each account. */
export async function add(
  account: string,
  amount: number,
  audit: () => Promise<void>,
): Promise<void> {
  using _held = await locks.acquire(account)
  const total = totals.get(account) ?? 0
  await audit()
  totals.set(account, total + amount)
}

import { raceTests } from '../support/races.ts'

raceTests('H202', [
  {
    name: 'a map of operations that anyone may empty',
    check: 'pending.set',
    act: 'pending.delete',
    race: `const pending = new Map<string, Promise<string>>()
export function load(key: string) {
  const known = pending.get(key)
  if (known) return known
  const made = read(key)
  pending.set(key, made)
  made.then(() => {
    pending.delete(key)
  })
  return made
}
export function invalidate() {
  pending.clear()
}
`,
    fixed: `const pending = new Map<string, Promise<string>>()
export function load(key: string) {
  const known = pending.get(key)
  if (known) return known
  const made = read(key)
  pending.set(key, made)
  made.then(() => {
    if (pending.get(key) === made) pending.delete(key)
  })
  return made
}
export function invalidate() {
  pending.clear()
}
`,
  },
])

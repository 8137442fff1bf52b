import { statSync } from 'node:fs'
import path from 'node:path'

/** Whether every user gets through to the folder: each of its parents lets others pass. */
export function isOpenToAll(folder: string): boolean {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false
    if (at === path.dirname(at)) return true
  }
}

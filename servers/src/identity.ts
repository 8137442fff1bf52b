import { execFileSync } from 'node:child_process'

/**
 * The user that runs a server when this process runs as root: PostgreSQL refuses to run as root, and no
 * server should. Undefined when this process is not root: it cannot start programs as another user.
 */
export function serverIdentity(...users: string[]): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const user of [...users, 'nobody']) {
    const uid = idOf('-u', user)
    const gid = idOf('-g', user)
    if (uid !== undefined && gid !== undefined) return { uid, gid }
  }
  return undefined
}

function idOf(kind: '-u' | '-g', user: string): number | undefined {
  try {
    return Number(execFileSync('id', [kind, user], { encoding: 'utf8', stdio: 'pipe' }))
  } catch {
    return undefined
  }
}

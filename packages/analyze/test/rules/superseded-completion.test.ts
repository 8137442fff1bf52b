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
  {
    name: 'a newer operation has the same key, unless the key is the handle itself',
    act: 'this.servers.delete',
    race: `export class Listeners {
  servers = new Map<string, Info>()
  add(name: string, info: Info) {
    this.servers.set(name, info)
  }
  remove(name: string, server: Server) {
    const info = this.servers.get(name)
    server.close(() => {
      if (info) info.forget()
      this.servers.delete(name)
    })
  }
}
`,
    fixed: `export class Listeners {
  servers = new Map<Server, Info>()
  add(server: Server, info: Info) {
    this.servers.set(server, info)
  }
  remove(server: Server) {
    const info = this.servers.get(server)
    server.close(() => {
      if (info) info.forget()
      this.servers.delete(server)
    })
  }
}
`,
  },
])

import { raceTests } from '../support/races.ts'

raceTests('H502', [
  {
    name: 'a list that is emptied before it is loaded',
    check: 'this.routes = []',
    act: 'this.routes.push',
    race: `export class Routes {
  routes: Route[] = []
  async reload() {
    this.routes = []
    for (const route of await loadRoutes()) this.routes.push(route)
  }
  find(path: string) {
    return this.routes.find((route) => route.path === path)
  }
}
`,
    fixed: `export class Routes {
  routes: Route[] = []
  async reload() {
    const loaded = await loadRoutes()
    this.routes = loaded
  }
  find(path: string) {
    return this.routes.find((route) => route.path === path)
  }
}
`,
  },
  {
    name: 'a list that is emptied and filled; drained and restored it is none',
    race: `export class Outbox {
  lines: string[] = []
  async reload() {
    this.lines = []
    this.lines = await load()
  }
  add(line: string) {
    return this.lines.includes(line)
  }
}
`,
    fixed: `export class Outbox {
  lines: string[] = []
  async flush() {
    const batch = this.lines
    this.lines = []
    try {
      await post(batch)
    } catch (error) {
      this.lines = batch.concat(this.lines)
      throw error
    }
  }
  add(line: string) {
    this.lines.push(line)
  }
}
`,
  },
  {
    name: 'a container that is made where there was none is not emptied',
    race: `export class Images {
  cache: Map<string, Image> | undefined
  async load(keys: string[]) {
    this.cache = new Map()
    for (const key of keys) this.cache.set(key, await fetchImage(key))
  }
  all() {
    return this.cache
  }
}
`,
    fixed: `export class Images {
  cache: Map<string, Image> | undefined
  async load(keys: string[]) {
    this.cache ||= new Map()
    for (const key of keys) this.cache.set(key, await fetchImage(key))
  }
  all() {
    return this.cache
  }
}
`,
  },
])

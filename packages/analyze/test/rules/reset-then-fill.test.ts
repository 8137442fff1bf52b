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
])

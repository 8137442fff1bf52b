import { raceTests } from '../support/races.ts'

raceTests('H503', [
  {
    name: 'two maps with one key',
    check: 'this.byId.delete',
    act: 'this.sessions.delete',
    race: `export class Users {
  byId = new Map<string, User>()
  sessions = new Map<string, Session>()
  login(id: string, user: User, session: Session) {
    this.byId.set(id, user)
    this.sessions.set(id, session)
  }
  async logout(id: string) {
    this.byId.delete(id)
    await audit(id)
    this.sessions.delete(id)
  }
}
`,
    fixed: `export class Users {
  byId = new Map<string, User>()
  sessions = new Map<string, Session>()
  login(id: string, user: User, session: Session) {
    this.byId.set(id, user)
    this.sessions.set(id, session)
  }
  async logout(id: string) {
    this.byId.delete(id)
    this.sessions.delete(id)
    await audit(id)
  }
}
`,
  },
])

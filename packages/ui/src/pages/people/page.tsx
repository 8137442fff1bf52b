/** Who may use this server: users with their roles and sessions, and tokens of programs. */
import type { JSX } from 'preact'
import { may, session } from '../../api/session.ts'
import { Empty } from '../../parts/placeholders.tsx'
import { Tokens } from './tokens.tsx'
import { Users } from './users.tsx'

export function PeoplePage(): JSX.Element {
  return (
    <main class="page" id="content" tabIndex={0}>
      <div class="page-head">
        <div>
          <h1>People</h1>
          <p>Users log in to this dashboard; tokens are for programs and workers.</p>
        </div>
      </div>
      {!may('admin') ? (
        <Empty title="Only admins see users and tokens">
          <p>You are logged in as {session.value?.user?.name ?? 'a guest'}.</p>
        </Empty>
      ) : (
        <div class="stack">
          {session.value?.is_open && (
            <p class="note warn">
              There are no users yet: everyone on this machine may do everything. The first user
              that you add is the admin, and from then on everyone must log in.
            </p>
          )}
          <Users />
          <Tokens />
        </div>
      )}
    </main>
  )
}

import { render } from 'preact'
import './styles/tokens.css'
import './styles/base.css'
import './styles/layout.css'
import './styles/parts.css'
import './styles/run.css'
import './styles/pages.css'
import { loadSession } from './api/client.ts'
import { loadFeatures } from './api/features.ts'
import { address } from './app/address.ts'
import { pageOf } from './app/pages.ts'
import { Shell } from './app/shell.tsx'
import { applyTheme } from './app/theme.ts'

applyTheme()
void loadSession()
void loadFeatures()
// The code of the view comes while the session is asked for; the view itself reports when it cannot be loaded.
pageOf(address.peek())
  ?.load()
  .catch(() => {})
render(<Shell />, document.getElementById('app')!)

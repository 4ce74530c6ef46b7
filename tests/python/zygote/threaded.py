"""Preloaded: something that leaves a thread behind."""

import threading

threading.Thread(target=threading.Event().wait, daemon=True).start()

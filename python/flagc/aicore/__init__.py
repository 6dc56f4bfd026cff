"""Python side of the emulated AI Core. The native engine is `flagc.aicore._aicore`."""

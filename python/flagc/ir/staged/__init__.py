"""The dialect `staged`: tiles in the memories of an AI Core, and the ops that move and use them."""

"""Attribution for language models: fine-tuning, cached gradients, methods and their evaluation.

    fine_tuned → attribution → gradients, cache, projection → methods → rankings → detection, quality
"""

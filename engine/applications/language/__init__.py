"""Attribution for language models: fine-tuning, cached gradients, estimators and their evaluation.

    attribution → finetune → gradients, cache, projection → features → estimators → rankings → detection, quality
"""
